// SPDX-License-Identifier: Apache-2.0
// The descriptions of the elements "infer" and "audio_events".
#include <tenon/elements/inference/elements.hpp>

#include <filesystem>

#include <tenon/core/frame_layout.hpp>
#include <tenon/elements/inference/audio_events.hpp>
#include <tenon/elements/inference/infer.hpp>
#include <tenon/elements/inference/tiles.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace inference {
namespace {

std::vector<Parameter> infer_parameters() {
  const double any = 1e9;
  std::vector<Parameter> all{
      {"model", "Model file: ONNX, or the .xml of an OpenVINO IR", std::string("model.onnx"), true},
      {"device", "Name of the device, as 'tenon devices' lists it", std::string("CPU")},
      {"shape",
       "Shape to give the model's input: all its extents, for example [1,3,480,640]; the size of its pictures, "
       "640x480; "
       "frame: the size of the first frames; empty: the model's own",
       std::string()},
      {"precision", "Precision in which the device computes: f32, bf16, f16, int8; empty: the device's default",
       std::string()},
      {"cache_dir", "Folder in which compiled models are cached; empty: no cache", std::string()},
      {"properties", "Properties of the device, KEY=VALUE, separated by blanks", std::string()},
      {"zero_copy",
       "require: a copy of a frame is an error; prefer: copies are avoided and booked; allow: the cheapest way",
       std::string("prefer"),
       false,
       0,
       0,
       {"require", "prefer", "allow"}},
      {"requests", "Inference requests in flight; 0: one more than the device runs at once", std::int64_t{0}, false, 0,
       256},
      {"batch", "Pictures in one inference, from any of the streams", std::int64_t{1}, false, 1, 1024},
      {"max_delay_ms", "How long an incomplete batch waits for more pictures, in milliseconds", 20.0, false, 0, any},
      {"timeout_ms", "How long an inference may take, in milliseconds", 10'000.0, false, 1, any},
      {"on",
       "Input of the model: the frame, each object found in it, or tiles of it, whose results are joined",
       std::string("frame"),
       false,
       0,
       0,
       {"frame", "objects", "tiles"}},
      {"labels", "For on=objects: only objects with these labels, separated by commas; empty: all", std::string()},
      {"min_size", "For on=objects: only objects of at least this many pixels in width and height", 0.0, false, 0, any},
      {"max_objects", "For on=objects: at most this many objects of a frame, in their order; 0: all", std::int64_t{0},
       false, 0, any},
      {"interval",
       "Runs the model on every n-th frame of a stream; the pictures of the others pass unchanged, and track goes on "
       "with "
       "the places that it expects",
       std::int64_t{1}, false, 1, any},
      {"decode",
       "What the outputs mean: auto (as the model says, else tensors), none (tensors), or a model type such as YOLOX, "
       "SSD, classification",
       std::string("auto")},
      {"decode_parameters",
       "Settings of the decoder, NAME=VALUE, separated by blanks, as docs/guide/decoders.md lists them for each",
       std::string()},
      {"labels_file", "File with one label per line, used instead of the model's labels", std::string()},
      {"model_labels", "Labels of the classes, separated by commas, used instead of the model's", std::string()},
      {"side_file",
       "File that says what the model does not say of itself: a model-proc, metadata.yaml, config.json, "
       "preprocessor_config.json, "
       "inference.yml or .modelinfo; empty: those beside the model",
       std::string()},
      choice("color_space", "Order of colours that the model takes; auto: as the model says, else RGB", "auto",
             {"auto", "RGB", "BGR", "GRAY"}),
      {"mean", "Subtracted from samples of 0 to 255: one number, or one for each channel; empty: as the model says",
       std::string()},
      {"scale", "What samples are divided by afterwards, in the same form; empty: as the model says", std::string()},
      choice("resize",
             "How pictures come to the input's size: stretched (standard), at the top left or in the middle of "
             "padding, or by their "
             "middle alone (crop); auto: as the model says, else stretched",
             "auto", {"auto", "standard", "fit_to_window", "fit_to_window_letterbox", "crop"}),
      {"pad_value", "Sample of the padding, 0 to 255, in the form of mean; empty: as the model says, else 0",
       std::string()},
      choice("layout", "Order of the input's axes; auto: as the model or its shape says", "auto",
             {"auto", "NCHW", "NHWC"}),
      {"facts",
       "More facts about the model, KEY=VALUE, separated by semicolons: crop_fraction=0.875;multilabel=YES. "
       "docs/guide/models.md lists "
       "them",
       std::string()},
      {"confidence", "Minimum score of a result; -1: as the model says", -1.0, false, -1, 1},
      {"iou", "Overlap (IoU) above which boxes count as one object; -1: as the model says", -1.0, false, -1, 1},
      {"top_k",
       "Maximum number of results per picture; 0: as the model says, else 300 (5 for classification). Where it "
       "leaves out results, an entry left_out in the metadata says so",
       std::int64_t{0}, false, 0, any},
  };
  for (Parameter& parameter : tile_parameters()) all.push_back(std::move(parameter));
  return all;
}

std::vector<Parameter> audio_parameters() {
  return {
      {"model", "Model file: ONNX, or the .xml of an OpenVINO IR; its input is one channel of samples",
       std::string("model.onnx"), true},
      {"device", "Name of the device, as 'tenon devices' lists it", std::string("CPU")},
      {"shape", "Shape to give the model's input, for example [1,16000]; empty: the model's own", std::string()},
      {"properties", "Properties of the device, KEY=VALUE, separated by blanks", std::string()},
      {"rate", "Sample rate that the model was trained with, in Hz", std::int64_t{16'000}, false, 1, 1e6},
      {"scale", "Factor for the samples, whose full scale is 1", 1.0},
      {"overlap", "Fraction of a window that it shares with the window before", 0.5, false, 0, 0.99},
      {"labels", "Labels of the scores, separated by commas", std::string()},
      {"labels_file", "File with one label per line, used instead of labels", std::string()},
      {"threshold", "Minimum score of an event; several, separated by commas: one for each label", std::string("0.5")},
      {"merge_gap_ms", "Largest gap between windows of one label that still form one event, in milliseconds",
       std::int64_t{0}, false, 0, 1e9},
      {"activation",
       "Activation function that turns the model's output into scores",
       std::string("none"),
       false,
       0,
       0,
       {"none", "softmax", "sigmoid"}},
  };
}

/// The files that parameters name. Those that the model refers to are added when it is read.
ElementFiles named_files(const Parameters& given, const Environment&) {
  std::filesystem::path model = given.text("model");
  ElementFiles files{{model.string(), given.text("labels_file")}};
  if (model.extension() == ".xml") files.read.push_back(model.replace_extension(".bin").string());
  return files;
}

ElementFiles files_of_infer(const Parameters& given, const Environment& environment) {
  ElementFiles files = named_files(given, environment);
  files.read.push_back(given.text("side_file"));
  return files;
}

}  // namespace

std::vector<KnownElement> elements() {
  std::vector<KnownElement> all{
      {{"audio_events",
        "Runs a model on windows of sound and adds the events that it finds, with their begin and end, to the metadata",
        Role::kTransform, audio_parameters(), false, true, Takes::kAudio},
       [](const Parameters& given, const Environment& environment) -> AnyElement {
         return std::make_unique<AudioEventsElement>(given, environment);
       }},
      {{"infer", "Runs a model on frames, or on the objects found in them, and adds its results to their metadata",
        Role::kTransform, infer_parameters(), true, true, Takes::kPictures, readable_formats()},
       [](const Parameters& given, const Environment& environment) -> AnyElement {
         return std::make_unique<Infer>(given, environment);
       }}};
  all[0].description.files = &named_files;
  all[1].description.files = &files_of_infer;
  return all;
}

}  // namespace inference
}  // namespace elements
}  // namespace v1
}  // namespace tenon
