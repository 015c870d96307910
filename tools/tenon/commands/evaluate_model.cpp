// SPDX-License-Identifier: Apache-2.0
// Runs a model on pictures, and reads what it found.
#include <tenon/tools/tenon/commands/evaluate_model.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include <fmt/core.h>

#include <tenon/core/error.hpp>
#include <tenon/runtime/properties.hpp>
#include <tenon/vision/decode.hpp>

#include <tenon/tools/tenon/shared/known_device.hpp>

namespace tenon::tool {
namespace {

/// The pixels of a mask that lies over a box, in a picture of width * height: each pixel has the value at its middle.
vision::MaskRuns in_picture(const metadata::Segmentation& mask, std::size_t width, std::size_t height) {
  const Shape shape = mask.mask.shape();
  const std::size_t rows = shape[shape.size() - 2], columns = shape[shape.size() - 1];
  const auto* values = static_cast<const std::uint8_t*>(mask.mask.data());
  std::vector<std::uint8_t> pixels(width * height);
  const auto first = [](float from) { return static_cast<std::size_t>(std::max(0.0f, std::ceil(from - 0.5f))); };
  const auto last = [](float to, std::size_t most) {
    return std::min(most, static_cast<std::size_t>(std::max(0.0f, std::ceil(to - 0.5f))));
  };
  const auto& box = mask.box;
  const auto at = [](float place, float from, float to, std::size_t count) {
    return std::min(count - 1, static_cast<std::size_t>((place - from) / (to - from) * static_cast<float>(count)));
  };
  for (std::size_t y = first(box.y1); y < last(box.y2, height); ++y)
    for (std::size_t x = first(box.x1); x < last(box.x2, width); ++x)
      pixels[y * width + x] = values[at(static_cast<float>(y) + 0.5f, box.y1, box.y2, rows) * columns +
                                     at(static_cast<float>(x) + 0.5f, box.x1, box.x2, columns)];
  return vision::MaskRuns::from_pixels(height, width, pixels);
}

}  // namespace

EvaluatedModel::EvaluatedModel(EvaluatedModelOptions options, bool many_labels, CommandFiles& files)
    : options_(std::move(options)), many_labels_(many_labels) {
  check_device(core_, options_.device);
  files.add_input(options_.settings.side_file, "--side-file");
  model_ = read_model(core_, files, options_.model);
  describe(*model_, options_.settings);
}

std::vector<std::string> EvaluatedModel::labels() const {
  FrameInfo any;
  any.format = kRgb24;
  any.width_px = any.height_px = 64;
  return vision::decode_options(*model_, any).labels;
}

void EvaluatedModel::prepare(const FrameInfo& info) {
  if (reader_ && info == info_) return;
  info_ = info;
  vision::DecodeOptions decode = vision::decode_options(*model_, info);
  if (!options_.model_type.empty()) decode.model_type = options_.model_type;
  if (decode.model_type.empty()) {
    std::string fitting;
    for (const std::string& name : vision::fitting_decoders(*model_))
      fitting += (fitting.empty() ? "; its outputs fit " : ", ") + name;
    throw Error(
        Code::kInvalidArgument,
        fmt::format(
            "\"{}\" does not say what its outputs mean (model_type), so nothing can be evaluated: add --model-type{}",
            options_.model, fitting));
  }
  decode.confidence_threshold = static_cast<float>(options_.confidence >= 0 ? options_.confidence : 0.001);
  if (options_.iou >= 0) decode.iou_threshold = static_cast<float>(options_.iou);
  decode.top_k = options_.top_k;
  decode.multi_label = many_labels_;
  reader_.emplace(decode, options_.model);
  if (compiled_) return;
  AnyMap properties{input_frames(info), hint::performance_mode(hint::PerformanceMode::THROUGHPUT)};
  for (const auto& [key, value] : properties_of(options_.settings)) properties[key] = value;
  compiled_ = core_.compile_model(model_, options_.device, properties);
}

void EvaluatedModel::read(InferRequest& request, const FrameInfo& info, const See& see) {
  prepare(info);
  const std::vector<vision::Detection>& found = reader_->read(request);
  const std::size_t width = info.upright_width_px(), height = info.upright_height_px();
  std::vector<SeenObject> objects;
  for (const vision::Detection& one : found) objects.push_back({one, {}});
  if (const auto all = reader_->all()) {
    const auto entries = all->all<metadata::Detection>();
    for (std::size_t i = 0; i < entries.size() && i < objects.size(); ++i)
      if (const auto masks = all->of<metadata::Segmentation>(entries[i].id); !masks.empty())
        objects[i].mask = in_picture(*masks[0].value, width, height);
  }
  see(width, height, objects);
}

void EvaluatedModel::run(const Next& next, const See& see) {
  struct Slot {
    InferRequest request;
    Frame frame;
    bool busy = false;
  };
  std::vector<Slot> slots;
  const auto finish = [&](Slot& slot) {
    if (!slot.busy) return;
    slot.request.wait();
    slot.busy = false;
    read(slot.request, slot.frame.info(), see);
    slot.frame = {};
  };
  std::size_t at = 0;
  while (std::optional<Frame> frame = next()) {
    prepare(frame->info());
    if (slots.empty()) {
      const std::uint64_t optimal = compiled_->get_property(optimal_number_of_infer_requests);
      for (std::uint64_t i = 0; i < std::max<std::uint64_t>(2, optimal); ++i)
        slots.push_back({compiled_->create_infer_request(), {}, false});
    }
    Slot& slot = slots[at++ % slots.size()];
    finish(slot);
    slot.frame = std::move(*frame);
    slot.request.set_frame(slot.frame);
    slot.request.start_async();
    slot.busy = true;
  }
  for (std::size_t i = 0; i < slots.size(); ++i) finish(slots[at++ % slots.size()]);
}

}  // namespace tenon::tool
