// SPDX-License-Identifier: Apache-2.0
// The format of sound, and a tensor seen as sound.
#pragma once

#include <cstddef>
#include <stdexcept>

#include "dlstreamer/frame.h"

namespace dlstreamer {

struct AudioFormat {
  Format depth : 8;  ///< Valid bits of a sample.
  Format interleaved : 1;
};

struct AudioInfo {
  /// @errors std::runtime_error: other than two axes.
  AudioInfo(const TensorInfo& info) {
    if (info.shape.size() != 2)
      throw std::runtime_error("AudioInfo: a tensor of " + std::to_string(info.shape.size()) +
                               " axes; sound has [samples, channels]");
    _samples = info.shape[0];
    _channels = info.shape[1];
  }
  size_t samples() const { return _samples; }
  size_t channels() const { return _channels; }

 private:
  size_t _samples;
  size_t _channels;
};

}  // namespace dlstreamer
