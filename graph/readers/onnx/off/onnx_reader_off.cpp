// SPDX-License-Identifier: Apache-2.0
// Replaces the ONNX reader in builds without protobuf or an ONNX schema; throws an error that says so.
#include <tenon/graph/readers/onnx/backend_suite.hpp>
#include <tenon/graph/readers/onnx/onnx_reader.hpp>

namespace tenon {
inline namespace v1 {

namespace {
[[noreturn]] void refuse(const std::string& origin) {
  throw Error(Code::kUnimplemented, origin + " needs the ONNX reader, which this build lacks: " TENON_ONNX_OFF_REASON);
}
}  // namespace

bool has_onnx_reader() { return false; }
std::shared_ptr<Model> read_onnx(const Tensor&, const std::filesystem::path&, const std::string& origin, bool) {
  refuse(origin);
}
std::shared_ptr<Model> read_onnx(const Tensor&, const std::filesystem::path&, const std::string& origin, bool,
                                 const OnnxOptions&) {
  refuse(origin);
}
std::vector<std::string> supported_onnx_operations() { return {}; }
BackendTestResult run_backend_test(const std::filesystem::path& folder, const BackendTestRun&,
                                   const BackendTestTolerance&) {
  refuse("\"" + folder.string() + "\"");
}

}  // namespace v1
}  // namespace tenon
