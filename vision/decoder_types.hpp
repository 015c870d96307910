// SPDX-License-Identifier: Apache-2.0
// What a decoder is, the table of all of them, and how programs and modules add their own.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <tenon/core/export.hpp>
#include <tenon/core/metadata.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/core/version.hpp>
#include <tenon/vision/decode_options.hpp>
#include <tenon/vision/nms.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {

/// Where the results of one picture go.
struct ResultTarget {
  metadata::Collection& into;
  metadata::Id parent = metadata::kFrame;  ///< The entry to which they belong.
  std::string model;                       ///< The model's name in entries.
};

/// Reads the outputs of a model for one picture after the other. @thread one at a time.
class TENON_API ResultDecoder {
 public:
  virtual ~ResultDecoder() = default;
  /// Whether read() keeps the tensors that it is given.
  virtual bool keeps_tensors() const { return false; }
  /// Adds what it reads. @param options  Those of make(), with the place of this picture in the input.
  /// @param outputs  The model's, named by options.output_names where these are known; packed, on the host, and DecoderType::fits()
  /// them. @return Whether options.top_k left out results.
  virtual bool read(const DecodeOptions& options, std::span<const Tensor> outputs, const ResultTarget& target) = 0;
};

/// A decoder of objects. Authors write find(); suppression, ranking, mapping to the frame and clipping are the same for all.
class TENON_API ObjectDecoder : public ResultDecoder {
 public:
  /// False: what find() finds are classes of the whole picture.
  virtual bool has_boxes() const { return true; }
  /// Appends the objects whose score reaches options.confidence_threshold, boxes in pixels of the model's input. Values that are not
  /// finite may be among them. @return Whether the model has suppressed boxes itself, so that all of them count.
  virtual bool find(const DecodeOptions& options, std::span<const Tensor> outputs, std::vector<Candidate>& found) = 0;
  /// Ranks what was found, drops what is the same object as a better one (by options.iou_threshold, unless `is_suppressed`), and keeps
  /// options.top_k of those that are visible in the frame. @return Whether there were more.
  virtual bool keep(const DecodeOptions& options, bool is_suppressed, std::vector<Candidate>& found);
  /// Adds what an object has beside its box, as children of `object`. @param candidate  As find() gave it.
  virtual void describe(const DecodeOptions& options, const Candidate& candidate, const ResultTarget& target,
                        metadata::Id object);
  /// Adds a metadata::Detection (or Classification) for each object, and what describe() has to say of it.
  bool read(const DecodeOptions& options, std::span<const Tensor> outputs, const ResultTarget& target) final;

 private:
  std::vector<Candidate> found_;
};

/// A setting of one decoder, beside the members of DecodeOptions.
struct DecoderParameter {
  std::string name, value;  ///< The value that counts where none is given.
  std::string about;
};

class DecoderSettings;

/// One row of the table.
struct DecoderType {
  std::string name;
  std::vector<std::string> other_names;  ///< In lower case; the name itself is known in any case.
  std::string expects;                   ///< The outputs, for messages and documentation.
  std::vector<DecoderParameter> parameters = {};
  bool needs_input_size = true;
  std::vector<std::string> labels = {};  ///< Those of a model that says none.
  /// Whether outputs of these types and shapes can be read. Outputs that no program can read have an undefined type.
  std::function<bool(const DecodeOptions& options, std::span<const TensorInfo> outputs)> fits;
  /// @errors kInvalidArgument: settings that make no sense (names them)
  std::function<std::unique_ptr<ResultDecoder>(const DecodeOptions& options, const DecoderSettings& settings)> make;
};

/// What DecodeOptions::parameters say for one type, and its own values for the rest.
class TENON_API DecoderSettings {
 public:
  /// @errors kInvalidArgument: a parameter that the type does not have (lists those that it has).
  DecoderSettings(const DecoderType& type, const DecodeOptions& options);
  const std::string& text(const std::string& name) const;
  /// @errors kInvalidArgument: the text is none (names parameter and text). @{
  double number(const std::string& name) const;
  bool flag(const std::string& name) const;
  std::vector<double> numbers(const std::string& name) const;  ///< Separated by commas.
  /// @}
  std::vector<std::string> words(const std::string& name) const;  ///< Separated by commas.

 private:
  [[noreturn]] void refuse(const std::string& name, const char* wanted) const;

  std::string type_;
  std::vector<DecoderParameter> all_;
};

/// Adds a type. @errors kInvalidArgument: a name, fits or make is missing; kAlreadyExists: a name is taken. @thread any.
TENON_API void register_decoder(DecoderType type);
/// The type of that name, in any case; null if there is none. Modules are loaded for names that are not known: shared libraries
/// libtenon_decoders_x.so in the folders that TENON_DECODER_PATH lists. The type lives as long as the process. @thread any.
TENON_API const DecoderType* find_decoder(const std::string& name);
/// All that are loaded, in the order in which they came. @thread any.
TENON_API std::vector<const DecoderType*> decoder_types();
/// Names of the types that could read outputs of these types and shapes, the more specific first. For messages.
TENON_API std::vector<std::string> decoders_that_fit(const DecodeOptions& options, std::span<const TensorInfo> outputs);

}  // namespace vision
}  // namespace v1
}  // namespace tenon

/// Makes a shared library a module of decoders. Use it in one source of the module, outside of all namespaces.
/// @param function  std::vector<tenon::vision::DecoderType>(). Decoders are C++ classes: only the release whose headers the module was
/// compiled with loads it.
#define TENON_DECODER_MODULE(function)                                                                             \
  extern "C" __attribute__((visibility("default"))) const char* tenon_decoders_release() { return TENON_VERSION; } \
  extern "C" __attribute__((visibility("default"))) void tenon_decoders(                                           \
      std::vector<tenon::vision::DecoderType>* all) {                                                              \
    *all = function();                                                                                             \
  }
