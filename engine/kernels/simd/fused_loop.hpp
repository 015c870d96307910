// SPDX-License-Identifier: Apache-2.0
// Several element-wise operations in one pass over memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <tenon/core/element_type.hpp>

#include <tenon/engine/kernels/simd/elementwise.hpp>

namespace tenon::inline v1::engine::kernels {

/// How a tensor is read while the loop passes over its result's elements in the order in which these lie in memory.
/// Outermost axis first, strides in elements, 0 where the tensor is broadcast; neighbouring axes that advance as one are
/// one.
struct LoopTensor {
  ElementType type = ElementType::kF32;  ///< Or kBf16, kBool, kU8, kI8, kI32, kI64, which are converted to f32.
  std::vector<std::size_t> extents;
  std::vector<std::ptrdiff_t> strides;

  /// Appends an axis, or makes it part of the last one.
  void add_axis(std::size_t extent, std::ptrdiff_t stride);
  /// Element after element, as the result.
  bool is_whole() const { return extents.size() == 1 && strides[0] == 1; }
  bool is_scalar() const { return extents.empty() || (extents.size() == 1 && strides[0] == 0); }
  /// The length of one row that all others repeat, as of a number for each channel that lies last; 0 for others.
  std::size_t period() const;
};

/// One function; what it reads are operands, by number, then results of operations before it.
struct LoopOperation {
  ElementwiseFunction function = nullptr;
  std::array<std::uint8_t, 3> reads{};
  float alpha = 0, beta = 0;
};

/// The loop: tile by tile, small enough that what passes between operations stays in the first-level cache. Computes in
/// f32. Thread-safe once made.
class FusedLoop {
 public:
  static constexpr std::size_t kMostOperands = 12, kMostOperations = 20;
  /// @param result  Type of the last operation's results: kF32, kBf16 or kBool.
  FusedLoop(std::size_t count, std::vector<LoopTensor> operands, std::vector<LoopOperation> operations,
            ElementType result);
  /// Pointers are the operands', then the result's, which may be one of those that are whole and of its type.
  /// @cost no allocation; split over the arena's workers where it is long enough.
  void operator()(std::span<void* const> pointers) const;

 private:
  /// How an operand comes to the functions.
  enum class Way : std::uint8_t {
    kInPlace,  ///< Where it lies.
    kOnce,     ///< Its tile is the same for all.
    kRow,      ///< Where it lies, and every so many elements again.
    kPerTile,  ///< Read into a tile each time.
  };
  void choose_tile();
  Way way_of(const LoopTensor& operand) const;
  void assign_slots();
  void run(std::span<void* const> pointers, std::size_t begin, std::size_t end) const;

  std::size_t count_;
  std::vector<LoopTensor> operands_;
  std::vector<LoopOperation> operations_;
  ElementType result_;
  std::vector<std::uint8_t> slots_;  ///< For each operand, then for each operation, the tile that it fills.
  std::vector<Way> ways_;            ///< For each operand.
  std::size_t tile_ = 0;             ///< Elements.
  std::size_t bytes_ = 0;            ///< What is read and written, with a share for the arithmetic.
};

}  // namespace tenon::inline v1::engine::kernels
