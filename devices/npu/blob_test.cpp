// SPDX-License-Identifier: Apache-2.0
// Compiled models of the NPU device outside a process: exported, imported, of another platform, in a cache folder.
#include <filesystem>
#include <sstream>
#include <string>

#include <tenon/devices/npu/testing/npu.hpp>

namespace tenon::npu_testing {
namespace blob_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string exported(CompiledModel& model) {
  std::stringstream stream;
  model.export_model(stream);
  return stream.str();
}

TEST_F(Npu, ExportsAndImports) {
  auto compiled = core.compile_model(relu(), "NPU");
  const std::string blob = exported(compiled);
  std::istringstream stream(blob);
  auto imported = core.import_model(stream, "NPU");
  EXPECT_EQ(imported.get_property(model_name), "relu_model");
  EXPECT_EQ(imported.input("x").get_partial_shape(), (PartialShape{1, 4}));
  auto request = imported.create_infer_request();
  request.set_tensor("x", floats({1, 4}, {5, -5, 6, -6}));
  request.infer();
  EXPECT_THAT(values_of(request.get_tensor("y")), ElementsAre(5, 0, 6, 0));
}

TEST_F(Npu, RefusesBlobsThatAreNotItsOwn) {
  auto compiled = core.compile_model(relu(), "NPU");
  const std::string blob = exported(compiled);
  const auto import = [&](const std::string& bytes, const AnyMap& properties = {}) {
    std::istringstream stream(bytes);
    core.import_model(stream, "NPU", properties);
  };
  EXPECT_THAT(error_of([&] { import("no blob at all, but long enough to have a header"); }, Code::kInvalidArgument),
              HasSubstr("no compiled blob"));
  EXPECT_THAT(error_of([&] { import(std::string(5000, 'x') + "OVNPU"); }, Code::kInvalidArgument),
              HasSubstr("OpenVINO"));
  EXPECT_THAT(error_of([&] { import(""); }, Code::kDataLoss), HasSubstr("truncated"));
  std::string newer = blob;
  newer[8] = 9;
  EXPECT_THAT(error_of([&] { import(newer); }, Code::kFailedPrecondition),
              HasSubstr("Metadata version is not supported!"));
  // Any flipped bit is detected.
  for (std::size_t at : {std::size_t{20}, std::size_t{100}, std::size_t{600}, blob.size() / 2, blob.size() - 1}) {
    std::string tampered = blob;
    tampered[at] = static_cast<char>(tampered[at] ^ 4);
    EXPECT_EQ(error_of([&] { import(tampered); }).code(), Code::kDataLoss) << "byte " << at;
  }
  // Without our header, the driver checks the blob.
  EXPECT_THROW(import("no blob of the driver's either, whatever one does with it", {{"NPU_IMPORT_RAW_BLOB", true}}),
               Error);
  EXPECT_NO_THROW(import(blob));
}

TEST_F(Npu, RawBlobsAreTheDriversAlone) {
  auto compiled = core.compile_model(relu(), "NPU", AnyMap{{"NPU_EXPORT_RAW_BLOB", true}});
  const std::string raw = exported(compiled);
  EXPECT_NE(raw.substr(0, 8), "TNPUBLOB");
  std::istringstream stream(raw);
  auto request = core.import_model(stream, "NPU", AnyMap{{"NPU_IMPORT_RAW_BLOB", true}}).create_infer_request();
  request.set_tensor("x", floats({1, 4}, {1, -1, 2, -2}));
  request.infer();
  EXPECT_THAT(values_of(request.get_tensor("y")), ElementsAre(1, 0, 2, 0));
}

TEST_F(Npu, CompilesForAnotherPlatformAndKeepsItsBlobsApart) {
  auto other = core.compile_model(relu(), "NPU", AnyMap{{"NPU_PLATFORM", "3720"}, {"NPU_MAX_TILES", 2}});
  EXPECT_EQ(other.get_property(intel_npu::platform), "3720");
  EXPECT_THAT(error_of([&] { other.create_infer_request(); }, Code::kFailedPrecondition), HasSubstr("3720"));
  const std::string blob = exported(other);
  std::istringstream stream(blob);
  EXPECT_THAT(error_of([&] { core.import_model(stream, "NPU"); }, Code::kFailedPrecondition),
              HasSubstr("is for platform 3720, this device is a 4000"));
}

TEST_F(Npu, CachesInAFolderAndBypassesTheDriversCache) {
  const auto folder = std::filesystem::temp_directory_path() / ("tenon_npu_cache_" + std::to_string(::getpid()));
  std::filesystem::remove_all(folder);
  auto cold = core.compile_model(relu(), "NPU", cache_dir(folder.string()));
  EXPECT_FALSE(cold.get_property(loaded_from_cache));
  EXPECT_EQ(cold.get_property(cache_dir), folder.string()) << "the device was told, so that the driver caches nothing";
  auto warm = core.compile_model(relu(), "NPU", cache_dir(folder.string()));
  EXPECT_TRUE(warm.get_property(loaded_from_cache));
  auto request = warm.create_infer_request();
  request.set_tensor("x", floats({1, 4}, {2, -2, 2, -2}));
  request.infer();
  EXPECT_THAT(values_of(request.get_tensor("y")), ElementsAre(2, 0, 2, 0));
  // Entries are of the device, whatever the context.
  auto in_context = core.compile_model(relu(), core.create_context("NPU", AnyMap{}), cache_dir(folder.string()));
  EXPECT_TRUE(in_context.get_property(loaded_from_cache));
  std::filesystem::remove_all(folder);
}

}  // namespace blob_test
}  // namespace tenon::npu_testing
