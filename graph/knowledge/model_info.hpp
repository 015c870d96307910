// SPDX-License-Identifier: Apache-2.0
// What a model says of its pictures and of its results, whichever exporter wrote it, and where it says so.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <tenon/core/any.hpp>
#include <tenon/core/export.hpp>

namespace tenon {
inline namespace v1 {

class Model;

/// One statement about a model.
struct Fact {
  std::string key;     ///< A name of fact_keys(), or any other of Model API's model_info.
  std::string value;   ///< Names as a list in Python's form, flags as YES or NO, numbers separated by blanks.
  std::string source;  ///< "option", "model_info", "metadata_props", or the name of a file.
  /// The value, or the beginning of a long one, for tables and messages.
  TENON_API std::string short_value() const;
};

/// One reader of all places in which exporters describe a model. For each fact the first that states it counts:
///   1. options: of this call, then those that state() put into the model;
///   2. the file that the user named (read_side_file);
///   3. rt_info["model_info"], as OpenVINO's Model API writes it into IRs and ONNX files;
///   4. rt_info["framework"], which holds ONNX's metadata_props: `names` beside `task` or `stride`, as Ultralytics writes them;
///   5. files beside the model (side_files.hpp), in their order there;
///   6. what the exporter's own program does: Ultralytics' predictor, Model API's anomaly models.
/// A source that states the model's type describes the model as a whole: what it leaves out is Model API's default, and sources of
/// other exporters below it are only compared with it.
class TENON_API ModelInfo {
 public:
  /// @param model    Must outlive this object.
  /// @param options  Values by key, as checked_fact() gives them.
  explicit ModelInfo(const Model& model, const std::map<std::string, std::string>& options = {});

  /// The value of a fact; empty if the model does not state it. @cost some look-ups; allocates.
  std::string text(const std::string& key) const;
  /// The same, without what the exporter's program would do.
  std::string stated(const std::string& key) const;
  /// The source of text(key); empty if there is none.
  std::string source(const std::string& key) const;
  /// For messages: key "value" (source).
  std::string quoted(const std::string& key) const;

  /// The names of the classes by number; empty if the model has none, "#3" where number 3 has none.
  std::vector<std::string> labels() const;
  /// The type of the results as vision::DecodeOptions::model_type names it. "YOLO", as Ultralytics' IRs say, becomes the type that
  /// belongs to the task, or to the shapes of the outputs where no task is stated.
  std::string model_type() const;
  /// Whether suppression is inside, so that rows are x1 y1 x2 y2 score class; nothing if the model does not say.
  std::optional<bool> is_end_to_end() const;
  /// Keypoints of an object, 0 if the model does not say; and the numbers of each (x, y and perhaps a score), 3 if it does not say.
  std::size_t keypoint_count() const;
  std::size_t keypoint_values() const;
  /// Height and width that the model was exported for, for inputs without a fixed size; empty if the model does not say.
  std::vector<std::size_t> picture_size() const;

  /// All facts that count, in the order of fact_keys(), then others.
  std::vector<Fact> facts() const;
  /// Sources that contradict each other (with both values), files that could not be read, what cannot be done here.
  std::vector<std::string> remarks() const;

 private:
  struct Statement {
    Fact fact;
    bool counts = true;  ///< Else it is only compared.
  };

  void add(const std::string& key, const std::string& value, const std::string& source, const std::string& exporter);
  void add_options(const std::map<std::string, std::string>& options);
  void add_model_info(const AnyMap& entries);
  void add_side_file(const std::string& kind);
  void add_defaults();
  /// Ends a source: if it stated a type, it describes the model as a whole.
  void finish(const std::string& exporter);
  const Fact* find(const std::string& key) const;
  std::vector<std::size_t> keypoint_shape() const;
  std::string yolo_type() const;
  std::string type_by_shapes() const;

  const Model& model_;
  std::vector<Statement> statements_;
  std::vector<std::string> remarks_;
  std::string whole_;      ///< The exporter that has described the model as a whole; empty: none has.
  bool has_type_ = false;  ///< The source that is being read has stated a type.
};

/// Puts options of the user into the model, where they precede all else. They belong to it in caches and copies.
/// @errors as checked_fact().
TENON_API void state(Model& model, const std::map<std::string, std::string>& options);

}  // namespace v1
}  // namespace tenon
