// SPDX-License-Identifier: Apache-2.0
// How many neighbours kernels read at once.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon::inline v1::gpu_device {

/// Kernels read and write so many neighbours at once.
constexpr std::size_t kChunk = 8;

/// Rows up to which a product takes as long as its right side takes to be read.
constexpr std::size_t kFewRows = 8;

inline std::size_t whole_chunks(std::size_t count) { return (count + kChunk - 1) / kChunk * kChunk; }

/// As kernels take numbers.
inline std::int64_t signed_of(std::size_t value) { return static_cast<std::int64_t>(value); }

}  // namespace tenon::inline v1::gpu_device
