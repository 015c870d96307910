// SPDX-License-Identifier: Apache-2.0
// Queries of transformers: boxes beside the scores of each class, or in one row with them.
#include <cstddef>
#include <vector>

#include <tenon/vision/internal/families.hpp>
#include <tenon/vision/internal/row_decoder.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {
namespace {

bool fits_queries(const DecodeOptions& options, const Shape& shape) {
  if (shape.size() != 3 || shape[0] != 1) return false;
  return options.labels.empty() ? shape[2] >= 5 : shape[2] == 4 + options.labels.size();
}

void decode_queries(const DecodeOptions& options, const Shape& shape, const float* values, RowScratch& scratch) {
  const std::size_t width = shape[2], labels = width - 4;
  const auto w = static_cast<float>(options.input_width), h = static_cast<float>(options.input_height);
  const Scores read = scores_after_boxes(options, shape, values);
  for (std::size_t i = 0; i < shape[1]; ++i) {
    const float* row = values + i * width;
    add_labels(options, scratch, read, row + 4, labels, 1, i,
               [&] { return around(row[0] * w, row[1] * h, row[2] * w, row[3] * h); });
  }
}

}  // namespace

std::vector<DecoderType> query_types() {
  return {row_type("RT-DETR", {"rtdetr", "rt_detr", "detr"}, "[1,n,4+labels]",
                   {fits_queries, decode_queries, true, true, true})};
}

}  // namespace vision
}  // namespace v1
}  // namespace tenon
