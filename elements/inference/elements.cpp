// SPDX-License-Identifier: Apache-2.0
// What the elements can be told.
#include <tenon/elements/inference/elements.hpp>

#include <tenon/elements/inference/audio_events.hpp>
#include <tenon/elements/inference/infer.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace inference {
namespace {

std::vector<Parameter> infer_parameters() {
  const double any = 1e9;
  return {
      {"model", "ONNX file, or the .xml of an OpenVINO IR", std::string("model.onnx"), true},
      {"device", "As tenon devices lists them", std::string("CPU")},
      {"shape", "New shape of the input, as [1,3,480,640]; empty: the model's own", std::string()},
      {"precision", "In which the device computes: f32, bf16, f16, int8; empty: its default", std::string()},
      {"cache_dir", "Folder for compiled models; empty: none are kept", std::string()},
      {"properties", "Settings of the device, KEY=VALUE, separated by blanks", std::string()},
      {"zero_copy",
       "require: a copy of a frame is an error; prefer: it is avoided and booked; allow",
       std::string("prefer"),
       false,
       0,
       0,
       {"require", "prefer", "allow"}},
      {"requests", "Inferences in flight; 0: one more than the device runs at once", std::int64_t{0}, false, 0, 256},
      {"batch", "Pictures in one inference, of any streams", std::int64_t{1}, false, 1, 1024},
      {"max_delay_ms", "How long a batch waits to be full", 20.0, false, 0, any},
      {"timeout_ms", "How long an inference may take", 10'000.0, false, 1, any},
      {"on",
       "What goes through the model: the frame, or each object found in it",
       std::string("frame"),
       false,
       0,
       0,
       {"frame", "objects"}},
      {"labels", "Of objects: only those with these labels, separated by commas; empty: all", std::string()},
      {"min_size", "Of objects: only those of as many pixels in width and height", 0.0, false, 0, any},
      {"max_objects", "Of objects: so many of a frame, in their order; 0: all", std::int64_t{0}, false, 0, any},
      {"interval", "One frame of so many goes through the model, the others pass", std::int64_t{1}, false, 1, any},
      {"decode",
       "What the outputs mean: auto (as the model says; else tensors), none (tensors), or a model type as YOLOX, SSD, "
       "classification",
       std::string("auto")},
      {"labels_file", "Labels, one a line, instead of the model's", std::string()},
      {"confidence", "Lowest score, instead of the model's; -1: the model's", -1.0, false, -1, 1},
      {"iou", "Overlap from which boxes are one, instead of the model's; -1: the model's", -1.0, false, -1, 1},
      {"top_k", "Most results of a picture; 0: as the model says", std::int64_t{0}, false, 0, any},
  };
}

std::vector<Parameter> audio_parameters() {
  return {
      {"model", "ONNX file, or the .xml of an OpenVINO IR, with one channel of samples as its input",
       std::string("model.onnx"), true},
      {"device", "As tenon devices lists them", std::string("CPU")},
      {"shape", "New shape of the input, as [1,16000]; empty: the model's own", std::string()},
      {"properties", "Settings of the device, KEY=VALUE, separated by blanks", std::string()},
      {"rate", "Samples per second that the model was trained with", std::int64_t{16'000}, false, 1, 1e6},
      {"scale", "Of samples, whose full scale is 1", 1.0},
      {"overlap", "Share of a window that the one before has, too", 0.5, false, 0, 0.99},
      {"labels", "Of the scores, separated by commas", std::string()},
      {"labels_file", "Labels, one a line, instead", std::string()},
      {"threshold", "Lowest score; several by commas: one for each label", std::string("0.5")},
      {"merge_gap_ms", "Windows of one label that lie no further apart are one event", std::int64_t{0}, false, 0, 1e9},
      {"activation",
       "What makes scores of the output",
       std::string("none"),
       false,
       0,
       0,
       {"none", "softmax", "sigmoid"}},
  };
}

}  // namespace

std::vector<KnownElement> elements() {
  return {{{"audio_events",
            "Runs a model on windows of sound, and adds events with their beginning and end to the metadata",
            Role::kTransform, audio_parameters(), false, true, Takes::kAudio},
           [](const Parameters& given, const Environment& environment) -> AnyElement {
             return std::make_unique<AudioEventsElement>(given, environment);
           }},
          {{"infer", "Runs a model on frames, or on objects in them, and adds what it finds to their metadata",
            Role::kTransform, infer_parameters(), true, true},
           [](const Parameters& given, const Environment& environment) -> AnyElement {
             return std::make_unique<Infer>(given, environment);
           }}};
}

}  // namespace inference
}  // namespace elements
}  // namespace v1
}  // namespace tenon
