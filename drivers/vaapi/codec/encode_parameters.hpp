// SPDX-License-Identifier: Apache-2.0
// What a client says of a sequence and its pictures to an encoder, in the structures of its codec.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include <va/va.h>

#include <tenon/drivers/vaapi/codec/encoder.hpp>

namespace tenon::va {

/// Part of the surface that decoders will show.
struct Window {
  int left = 0, top = 0, width = 0, height = 0;
};

/// @thread one at a time.
class EncodeParameters {
 public:
  virtual ~EncodeParameters() = default;
  EncodeParameters(const EncodeParameters&) = delete;
  EncodeParameters& operator=(const EncodeParameters&) = delete;
  /// Forgets the picture; the sequence stays.
  virtual void begin() = 0;
  /// A sequence's, picture's or slice's structure: all slices have the first one's quantiser.
  /// @param element_bytes  Size of one structure, as the client said.
  /// @return VA_STATUS_ERROR_INVALID_BUFFER if it is too short.
  virtual VAStatus read(VABufferType type, std::span<const std::uint8_t> bytes, std::size_t element_bytes) = 0;
  /// Whether all three have been read; what follows requires it.
  virtual bool is_complete() const = 0;
  virtual VABufferID coded() const = 0;
  virtual bool is_idr() const = 0;
  virtual int quantiser() const = 0;
  virtual std::uint32_t bits_per_second() const = 0;
  /// Unchecked: it may be larger than the surface, or have no pixels. @param width_px, height_px  The surface's.
  virtual Window window(int width_px, int height_px) const = 0;
  /// Sets what the codec alone has, the rate of pictures and the shape of pixels.
  virtual void fill(EncoderSettings& settings) const = 0;

 protected:
  EncodeParameters() = default;
};

/// Null for a profile that has none here.
std::unique_ptr<EncodeParameters> make_encode_parameters(VAProfile profile);

}  // namespace tenon::va
