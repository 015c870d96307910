// SPDX-License-Identifier: Apache-2.0
// Orders of the parts of an LSTM's weights: Part of rnn_cell_base.hpp and lstm_cell.hpp.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>

#include "openvino/core/node.hpp"

namespace ov {
namespace op {
namespace util {
/// What a clip means: 0 and infinity nothing, less than 0 is none.
enum class RNNClipMode { NONE, CLAMP, INVALID };
inline RNNClipMode classify_rnn_clip(float clip) {
  if (!(clip >= 0.0F)) return RNNClipMode::INVALID;
  return clip == 0.0F || std::isinf(clip) ? RNNClipMode::NONE : RNNClipMode::CLAMP;
}
inline bool are_clips_equal(float lhs, float rhs) {
  const bool clips[] = {classify_rnn_clip(lhs) != RNNClipMode::NONE, classify_rnn_clip(rhs) != RNNClipMode::NONE};
  return clips[0] && clips[1] ? lhs == rhs : clips[0] == clips[1];
}
/// Forget, input, cell, output gate. Operations here have the first order.
enum class LSTMWeightsFormat { FICO, ICOF, IFCO, IFOC, IOFC };
enum class LSTMPeepholesFormat { FIO, IOF, IFO };
/// Weights or peepholes in another order of their parts along an axis.
OPENVINO_API std::shared_ptr<Node> convert_lstm_node_format(const Output<Node>& node, LSTMWeightsFormat from_format,
                                                            LSTMWeightsFormat to_format = LSTMWeightsFormat::FICO,
                                                            std::int64_t axis = 0);
OPENVINO_API std::shared_ptr<Node> convert_lstm_peepholes_format(
    const Output<Node>& node, LSTMPeepholesFormat from_format, LSTMPeepholesFormat to_format = LSTMPeepholesFormat::FIO,
    std::int64_t axis = 0);
}  // namespace util

enum class LSTMWeightsFormat { FICO, ICOF, IFCO, IFOC, IOFC };
inline util::LSTMWeightsFormat convert_lstm_weights_enums(LSTMWeightsFormat format) {
  return static_cast<util::LSTMWeightsFormat>(format);
}
}  // namespace op
}  // namespace ov
