// SPDX-License-Identifier: Apache-2.0
// Reads, reshapes and compiles a model once for equal settings.
#include <tenon/elements/inference/shared_model.hpp>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/mapped_file.hpp>
#include <tenon/graph/input_stage/input_stage.hpp>
#include <tenon/graph/knowledge/model_info.hpp>
#include <tenon/graph/knowledge/side_files.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/graph/passes/pass.hpp>
#include <tenon/runtime/properties.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace inference {
namespace {

ZeroCopy policy_of(const std::string& name) {
  return name == "require" ? ZeroCopy::kRequire : name == "allow" ? ZeroCopy::kAllow : ZeroCopy::kPrefer;
}

AnyMap properties_of(const ModelSettings& settings) {
  AnyMap properties{zero_copy(policy_of(settings.zero_copy)),
                    hint::performance_mode(hint::PerformanceMode::THROUGHPUT)};
  if (!settings.precision.empty()) properties[hint::inference_precision.name()] = Any(settings.precision);
  if (!settings.cache_dir.empty()) properties[cache_dir.name()] = Any(settings.cache_dir);
  std::istringstream words(settings.properties);
  for (std::string word; words >> word;) {
    const auto equals = word.find('=');
    if (equals == 0 || equals == std::string::npos)
      throw Error(Code::kInvalidArgument, "properties: \"" + word + "\" is not KEY=VALUE, as NUM_STREAMS=2");
    properties[word.substr(0, equals)] = Any(word.substr(equals + 1));
  }
  return properties;
}

/// The shape that the settings ask for: all extents, or WIDTHxHEIGHT, which changes these two.
/// @errors kInvalidArgument: neither, or an input that takes no pictures.
PartialShape wanted_shape(const Model& model, const std::string& text) {
  std::uint32_t width = 0, height = 0;
  const auto* const end = text.data() + text.size();
  const auto [times, first] = std::from_chars(text.data(), end, width);
  if (first != std::errc() || times == end || *times != 'x') return PartialShape(text);
  const auto [last, second] = std::from_chars(times + 1, end, height);
  if (second != std::errc() || last != end || width == 0 || height == 0)
    throw Error(Code::kInvalidArgument,
                "shape \"" + text + "\" is neither WIDTHxHEIGHT, as 640x480, nor extents, as [1,3,480,640]");
  PartialShape shape = model.inputs()[0].get_partial_shape();
  FrameInfo any{kRgb24, width, height};
  const std::size_t batch = shape.rank().is_static() && shape.size() == 3 ? 0 : 1;
  const std::size_t row = options_from(model, any).layout == ImageLayout::kNchw ? batch + 1 : batch;
  shape[row] = Dimension(height);
  shape[row + 1] = Dimension(width);
  return shape;
}

std::shared_ptr<Model> read(const Core& core, const ModelSettings& settings) {
  std::shared_ptr<Model> model = core.read_model(settings.model);
  if (model->inputs().size() != 1)
    throw Error(Code::kUnimplemented, "the model \"" + settings.model + "\" has " +
                                          std::to_string(model->inputs().size()) +
                                          " inputs; frames feed models of one");
  if (!settings.side_file.empty()) read_side_file(settings.side_file, *model);
  state(*model, settings.facts);
  if (!settings.shape.empty()) model->reshape(wanted_shape(*model, settings.shape));
  return model;
}

/// Exporters write the batch of 1 into the patterns of reshapes: [1,9,-1]. A 0 in its place keeps the batch of the input.
void free_batch(Model& model) {
  for (const std::shared_ptr<Node>& node : model.get_ordered_ops()) {
    if (!is_op(node, "Reshape")) continue;
    const auto pattern = as_type_ptr<op::v0::Constant>(node->input_value(1).get_node_shared_ptr());
    const PartialShape& in = node->input_value(0).get_partial_shape();
    if (!pattern || in.rank().is_dynamic() || in.size() == 0 || in[0] != Dimension(1)) continue;
    std::vector<std::int64_t> extents = pattern->cast_vector<std::int64_t>();
    if (extents.empty() || extents[0] != 1 || std::count(extents.begin(), extents.end(), 0) != 0) continue;
    extents[0] = 0;
    const auto kept = op::v0::Constant::create(element::i64, Shape{extents.size()}, extents);
    const auto made = std::make_shared<op::v1::Reshape>(node->input_value(0), kept, true);
    made->set_friendly_name(node->get_friendly_name());
    pass::replace_node(node, made->output(0));
  }
}

/// The model with the batch of the settings.
/// @errors kInvalidArgument: the batch of the model cannot be changed, or its results do not follow the batch.
std::shared_ptr<Model> batched(const Model& single, const ModelSettings& settings) {
  std::shared_ptr<Model> model = single.clone();
  const std::string what = "batch=" + std::to_string(settings.batch) + " of \"" + settings.model + "\": ";
  free_batch(*model);
  PartialShape shape = model->inputs()[0].get_partial_shape();
  if (shape.rank().is_dynamic() || shape.size() != 4)
    throw Error(Code::kInvalidArgument, what + "its input " + shape.to_string() + " has no batch");
  shape[0] = Dimension(static_cast<std::int64_t>(settings.batch));
  try {
    model->reshape(shape);
  } catch (const std::exception& error) {
    throw Error(Code::kInvalidArgument, what + "the model cannot have that shape: " + error.what());
  }
  for (const auto& output : model->outputs()) {
    const PartialShape& made = output.get_partial_shape();
    const bool follows = made.rank().is_static() && made.size() > 0 && made[0].is_static() &&
                         made[0].get_length() == static_cast<std::int64_t>(settings.batch);
    if (!follows)
      throw Error(Code::kInvalidArgument, what + "output '" + output.get_any_name() + "' is " + made.to_string() +
                                              "; its first extent must be the batch");
  }
  return model;
}

void check_static(const Model& model, const ModelSettings& settings) {
  const PartialShape& shape = model.inputs()[0].get_partial_shape();
  if (!shape.is_static())
    throw Error(Code::kInvalidArgument, "the input of \"" + settings.model + "\" is " + shape.to_string() +
                                            "; batches and objects need fixed extents: shape=[1,3,224,224], say");
}

std::shared_ptr<SharedModel> load(const std::shared_ptr<Core>& core, const ModelSettings& settings,
                                  const std::optional<FrameInfo>& frames) {
  auto made = std::make_shared<SharedModel>();
  made->core = core;
  const MappedFiles mapped;
  const std::shared_ptr<Model> single = read(*core, settings);
  for (const MappedFiles::File& file : mapped.all()) made->files.push_back(file.path.string());
  made->single = single;
  const NodeVector nodes = single->get_ordered_ops();
  made->keeps_state =
      std::any_of(nodes.begin(), nodes.end(), [](const auto& node) { return is_op(node, "ReadValue"); });
  AnyMap properties = properties_of(settings);
  if (settings.takes_frames) {
    if (frames) properties.insert(input_frames(*frames));
    made->compiled = core->compile_model(made->single, settings.device, properties);
    return made;
  }
  check_static(*single, settings);
  if (made->keeps_state)
    throw Error(Code::kInvalidArgument, "\"" + settings.model +
                                            "\" keeps state from frame to frame; that works with whole frames and "
                                            "batch=1 only");
  const std::shared_ptr<const Model> model = settings.batch > 1 ? batched(*single, settings) : single;
  made->compiled = core->compile_model(model, settings.device, properties);
  return made;
}

}  // namespace

std::shared_ptr<const SharedModel> share_model(const ModelSettings& settings, const std::optional<FrameInfo>& frames,
                                               UsedFiles* files) {
  const auto note = [&](const std::shared_ptr<const SharedModel>& model) {
    for (const std::string& file : model->files)
      if (files) files->add_input(file, "the model's file");
    return model;
  };
  static std::mutex mutex;
  static std::weak_ptr<Core> weak_core;
  static std::map<ModelSettings, std::weak_ptr<const SharedModel>> known;
  const std::lock_guard lock(mutex);  // Two elements with equal settings must not both compile the model.
  std::erase_if(known, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<const SharedModel>& place = known[settings];
  if (auto model = place.lock()) return note(model);
  std::shared_ptr<Core> core = weak_core.lock();
  if (!core) weak_core = core = std::make_shared<Core>();
  const std::shared_ptr<const SharedModel> made = load(core, settings, frames);
  place = made;
  return note(made);
}

}  // namespace inference
}  // namespace elements
}  // namespace v1
}  // namespace tenon
