// SPDX-License-Identifier: Apache-2.0
// Leaves weights out of a model's blob, and finds them again.
#include <tenon/devices/npu/weightless.hpp>

#include <charconv>
#include <cstring>
#include <functional>
#include <optional>
#include <set>
#include <system_error>
#include <vector>

#include <tenon/core/mapped_file.hpp>
#include <tenon/devices/npu/model_info.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/graph/readers/openvino_ir/ir_reader.hpp>
#include <tenon/graph/readers/read_model.hpp>
#include <tenon/graph/subgraph.hpp>
#include <tenon/graph/writers/openvino_ir/ir_writer.hpp>
#include <tenon/store/bytes.hpp>
#include <tenon/store/table.hpp>
#include <tenon/store/weights.hpp>

namespace tenon::inline v1::npu_device {
namespace {

/// Smaller ones stay: finding them again takes about as much room.
constexpr std::size_t kLarge = 1024;

void visit_constants(const Model& model, const std::function<void(const Tensor&)>& visit) {
  for (const auto& node : model.get_ordered_ops()) {
    if (const auto* constant = as_type<op::v0::Constant>(node.get())) visit(constant->get_tensor());
    if (const auto* with_bodies = as_type<op::util::MultiSubGraphOp>(node.get()))
      for (const auto& body : with_bodies->get_functions()) visit_constants(*body, visit);
  }
}

bool in_file(const Tensor& constant) { return constant.memory()->read_only(); }

/// Location of a constant that was left out.
struct Place {
  std::uint64_t size = 0, offset = 0;  ///< Offset in the weights file, if the constant came from one.
  store::ContentHash hash;
};

class Weights {
 public:
  explicit Weights(const WeightsSource& source) : model_(source.model), path_(source.path) {
    if (model_ || path_.empty()) return;
    const auto ends_in = [this](std::string_view end) {
      return path_.size() >= end.size() && path_.compare(path_.size() - end.size(), end.size(), end) == 0;
    };
    if (ends_in(".xml") || ends_in(".onnx"))
      model_ = read_model(path_);
    else
      file_ = map_file(path_);
  }
  /// u8. @errors kFailedPrecondition.
  Tensor find(const Place& place) {
    if (!model_ && !file_)
      throw Error(Code::kFailedPrecondition,
                  "NPU: Attempted to load a weightless compiled model, but no weights have been provided; give "
                  "WEIGHTS_PATH (the weights file, or the model's) or MODEL_PTR");
    Tensor found = model_ ? in_model(place) : store::find_at(file_, place.offset, place.size, place.hash);
    if (found) return found;
    throw Error(Code::kFailedPrecondition,
                "NPU: the weights that were given " + (path_.empty() ? std::string() : "(\"" + path_ + "\") ") +
                    "are not those that the model was compiled with: " + std::to_string(place.size) + " bytes" +
                    (file_ ? " at offset " + std::to_string(place.offset) : std::string()) +
                    " are missing or have changed");
  }

 private:
  Tensor in_model(const Place& place) {
    if (!is_hashed_) visit_constants(*model_, [this](const Tensor& constant) { by_hash_.add(constant); });
    is_hashed_ = true;
    const Tensor found = by_hash_.find(place.hash);
    return found && found.size_bytes() == place.size ? store::part_of(found, 0, place.size) : Tensor();
  }

  std::shared_ptr<const Model> model_;
  const std::string path_;
  Tensor file_;
  store::WeightsByHash by_hash_{kLarge};
  bool is_hashed_ = false;
};

std::optional<std::uint64_t> number_of(const std::map<std::string, std::string, std::less<>>& attribute,
                                       std::string_view key) {
  const auto found = attribute.find(key);
  if (found == attribute.end()) return std::nullopt;
  const std::string& text = found->second;
  std::uint64_t value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc{} || result.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::string write_weightless(const Model& model, const std::map<std::string, std::string>& config) {
  bool has_file = false;
  visit_constants(model,
                  [&](const Tensor& constant) { has_file |= constant.size_bytes() >= kLarge && in_file(constant); });
  std::map<const void*, std::uint64_t> numbers;
  std::vector<Tensor> constants;
  const std::string xml = serialize_by_number(model, [&](const Tensor& constant) {
    const auto [at, is_new] = numbers.emplace(constant.data(), constants.size());
    // Equal addresses are the same constant only if the sizes are equal too.
    if (is_new || constants[at->second].size_bytes() != constant.size_bytes()) {
      at->second = constants.size();
      constants.push_back(constant);
    }
    return at->second;
  });
  store::TableWriter table;
  table.text(xml);
  table.number(config.size());
  for (const auto& [key, value] : config) table.text(key), table.text(value);
  table.number(constants.size());
  for (const Tensor& constant : constants) {
    // In a model with a weights file, constants that the program itself made are not in that file, so they are stored.
    const bool leaves = constant.size_bytes() >= kLarge && (in_file(constant) || !has_file);
    table.number(leaves ? 1 : 0);
    if (!leaves) {
      table.text(store::bytes_of(constant));
      continue;
    }
    table.number(constant.size_bytes());
    table.number(constant.offset());
    table.hash(store::content_hash(constant));
  }
  return std::move(table).bytes();
}

Weightless read_weightless(std::string_view bytes, const WeightsSource& source) {
  store::TableReader table(bytes, &damaged);
  Weightless read;
  const std::string_view xml = table.view();
  for (std::uint64_t left = table.count(); left > 0; --left) {
    std::string key = table.text();
    read.config[std::move(key)] = table.text();
  }
  Weights weights(source);
  std::vector<Tensor> constants;
  for (std::uint64_t left = table.count(); left > 0; --left) {
    if (table.number() == 0) {
      const std::string_view kept = table.view();
      constants.emplace_back(ElementType::kU8, Shape{kept.size()});
      std::memcpy(constants.back().data(), kept.data(), kept.size());
      continue;
    }
    Place place;
    place.size = table.number();
    place.offset = table.number();
    place.hash = table.hash();
    constants.push_back(weights.find(place));
  }
  read.model = read_ir(xml, {}, "the compiled blob's model", [&](const auto& attribute) -> Tensor {
    const auto name = attribute.find("name");
    if (name == attribute.end() || name->second != "WeightsPointerAttribute") return {};
    const auto number = number_of(attribute, "mp"), size = number_of(attribute, "ms");
    if (!number || !size || *number >= constants.size() || constants[*number].size_bytes() != *size)
      damaged("it does not say where a constant is");
    return constants[*number];
  });
  return read;
}

}  // namespace tenon::inline v1::npu_device
