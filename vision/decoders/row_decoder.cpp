// SPDX-License-Identifier: Apache-2.0
// Chooses the output that is read, and keeps its memory from picture to picture.
#include <tenon/vision/internal/row_decoder.hpp>

#include <algorithm>
#include <memory>
#include <utility>

#include <tenon/vision/internal/labelled_boxes.hpp>
#include <tenon/vision/internal/reading.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {
namespace {

class RowDecoder final : public ObjectDecoder {
 public:
  explicit RowDecoder(const RowFormat& format) : format_(format) {}
  bool has_boxes() const override { return format_.has_boxes; }
  bool find(const DecodeOptions& options, std::span<const Tensor> outputs, std::vector<Candidate>& found) override {
    const auto chosen = std::find_if(outputs.begin(), outputs.end(), [&](const Tensor& output) {
      return is_real(output) && format_.fits(options, output.shape());
    });
    if (chosen == outputs.end()) {
      add_labelled_boxes(*find_labelled_boxes(outputs), outputs, options, 0, found);
      return true;
    }
    scratch_.candidates = &found;
    scratch_.is_suppressed = format_.is_suppressed;
    if (chosen->element_count() > 0)
      format_.decode(options, chosen->shape(), floats(*chosen, scratch_.values), scratch_);
    return scratch_.is_suppressed;
  }

 private:
  const RowFormat format_;
  RowScratch scratch_;
};

}  // namespace

DecoderType row_type(std::string name, std::vector<std::string> other_names, std::string expects,
                     const RowFormat& format) {
  DecoderType type{std::move(name), std::move(other_names), std::move(expects), {}, format.has_boxes, {}, {}, {}};
  type.fits = [format](const DecodeOptions& options, std::span<const TensorInfo> outputs) {
    return std::any_of(
               outputs.begin(), outputs.end(),
               [&](const TensorInfo& output) { return is_real(output.type) && format.fits(options, output.shape); }) ||
           (format.takes_own_boxes && find_labelled_boxes(outputs));
  };
  type.make = [format](const DecodeOptions&, const DecoderSettings&) { return std::make_unique<RowDecoder>(format); };
  return type;
}

}  // namespace vision
}  // namespace v1
}  // namespace tenon
