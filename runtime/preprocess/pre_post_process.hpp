// SPDX-License-Identifier: Apache-2.0
// Pre- and post-processing as part of a model.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <memory>
#include <string>

#include <tenon/core/export.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/runtime/preprocess/input_info.hpp>
#include <tenon/runtime/preprocess/output_info.hpp>

namespace tenon {
inline namespace v1 {
namespace preprocess {

/// OpenVINO's PrePostProcessor: adds nodes to a model that convert the caller's tensors to the model's inputs, and the
/// model's outputs to the tensors that the caller wants. Devices fold the usual chain (colour conversion, type,
/// resize, layout, channel order, mean and scale) into their input stage, which reads a decoder's planes where they
/// lie.
///
///   PrePostProcessor p(model);
///   p.input().tensor().set_element_type(element::u8).set_spatial_static_shape(720, 1280)
///       .set_color_format(ColorFormat::NV12_TWO_PLANES, {"y", "uv"});
///   p.input().preprocess().convert_color(ColorFormat::BGR).convert_element_type(element::f32)
///       .resize(ResizeAlgorithm::RESIZE_LINEAR).mean({104, 117, 123});
///   p.input().model().set_layout("NCHW");
///   model = p.build();
///
/// @thread one object, and the model, from one thread at a time.
class TENON_API PrePostProcessor final {
 public:
  /// @errors AssertFailure: null.
  explicit PrePostProcessor(const std::shared_ptr<Model>& function);
  PrePostProcessor(PrePostProcessor&&) noexcept;
  PrePostProcessor& operator=(PrePostProcessor&&) noexcept;
  ~PrePostProcessor();

  /// The only input, or the one with a tensor name, or by position. References last as long as this object.
  /// @errors AssertFailure: none, several, no such (the message lists the names).
  InputInfo& input();
  InputInfo& input(const std::string& tensor_name);
  InputInfo& input(std::size_t input_index);
  OutputInfo& output();
  OutputInfo& output(const std::string& tensor_name);
  OutputInfo& output(std::size_t output_index);

  /// Changes the model in place and returns it. Tensor names of inputs and outputs stay with the ports that the caller
  /// sees. If it throws, the model is unchanged. It can succeed only once.
  /// @errors AssertFailure: a step does not fit its input (named in the message), the planes were not joined by
  /// convert_color, or the result does not have the model input's shape.
  std::shared_ptr<Model> build();

 private:
  TENON_API friend std::ostream& operator<<(std::ostream& out, const PrePostProcessor& processor);
  void dump(std::ostream& out) const;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// One line per step with type, shape and layout before and after it. The model is not changed; a step that fails ends
/// the text with its error.
TENON_API std::ostream& operator<<(std::ostream& out, const PrePostProcessor& processor);

}  // namespace preprocess
}  // namespace v1
}  // namespace tenon
