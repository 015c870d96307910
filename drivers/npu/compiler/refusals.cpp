// SPDX-License-Identifier: Apache-2.0
// Reads the list of refused operations.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <tenon/core/error.hpp>
#include <tenon/drivers/npu/compiler/options.hpp>
#include <tenon/drivers/npu/compiler/refusals.hpp>
#include <tenon/graph/operation_table.hpp>

namespace tenon::npu::compiler {
namespace {

bool is_operation(std::string_view type) {
  for (unsigned opset = 1; opset <= kMaxOpset; ++opset)
    if (find_operation(type, opset)) return true;
  return false;
}

}  // namespace

Refusals::Refusals(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) throw Error(Code::kNotFound, "NPU: TENON_NPU_REFUSE: " + path.string() + " cannot be read");
  std::size_t number = 0;
  for (std::string line; std::getline(file, line);) {
    const auto where = [&] { return "NPU: TENON_NPU_REFUSE: " + path.string() + ":" + std::to_string(number) + ": "; };
    ++number;
    std::istringstream words(line.substr(0, line.find('#')));
    Entry entry;
    std::string element_type, more;
    if (!(words >> entry.type)) continue;
    if (!is_operation(entry.type))
      throw Error(Code::kInvalidArgument,
                  where() + "'" + entry.type + "' is no operation of OpenVINO's operation sets");
    if (words >> element_type && !(entry.element_type = element_type_from_name(element_type)))
      throw Error(Code::kInvalidArgument, where() + "'" + element_type + "' is no element type (f32, f16, i8 ...)");
    if (words >> more)
      throw Error(Code::kInvalidArgument, where() + "'" + more + "' is too much: TYPE or TYPE ELEMENT_TYPE");
    text_ += entry.type + " " + element_type + "\n";
    entries_.push_back(std::move(entry));
  }
}

const Refusals& Refusals::from_environment() {
  static const Refusals refusals = [] {
    const char* file = std::getenv("TENON_NPU_REFUSE");
    return file && *file ? Refusals(file) : Refusals();
  }();
  return refusals;
}

bool Refusals::refuses(const Node& node) const {
  const std::string_view type = node.get_type_name();
  return std::ranges::any_of(entries_, [&](const Entry& each) {
    return each.type == type && (!each.element_type || (node.get_output_size() != 0 &&
                                                        node.get_output_element_type(0) == *each.element_type));
  });
}

}  // namespace tenon::npu::compiler
