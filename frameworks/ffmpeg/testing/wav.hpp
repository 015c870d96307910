// SPDX-License-Identifier: Apache-2.0
// WAV files for tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string>

namespace tenon_test {

/// Writes interleaved samples of 16 bits. @errors std::runtime_error
inline void write_wav(const std::string& path, std::uint32_t rate_hz, std::uint16_t channels,
                      std::span<const std::int16_t> samples) {
  const auto bytes = static_cast<std::uint32_t>(samples.size_bytes());
  std::string head = "RIFF....WAVEfmt ................data....";
  head.resize(44);
  const auto put = [&](std::size_t at, std::uint32_t value, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) head[at + i] = static_cast<char>(value >> 8 * i & 0xff);
  };
  put(4, bytes + 36, 4), put(16, 16, 4), put(20, 1, 2), put(22, channels, 2), put(24, rate_hz, 4);
  put(28, rate_hz * channels * 2, 4), put(32, channels * 2u, 2), put(34, 16, 2);
  head.replace(36, 4, "data");
  put(40, bytes, 4);
  std::ofstream file(path, std::ios::binary);
  file.write(head.data(), 44).write(reinterpret_cast<const char*>(samples.data()), bytes);
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

}  // namespace tenon_test
