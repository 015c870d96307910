// SPDX-License-Identifier: Apache-2.0
// What decides how kernels are written.
#pragma once

#include <cstddef>
#include <cstdint>

#include <tenon/core/element_type.hpp>

namespace tenon::inline v1::gpu_device {

/// What kernels are written for.
struct Target {
  /// What multiplies matrices of f16.
  enum class Matrices : std::uint8_t {
    kPortable,  ///< Each work-item its elements, in OpenCL C.
    kNvidia,    ///< Warps, by mma.sync: compute capability 8.0 and later.
    kIntel,     ///< Sub-groups: cl_intel_subgroup_matrix_multiply_accumulate.
  };
  /// What multiplies four 8-bit numbers by four others and adds.
  enum class Dots : std::uint8_t {
    kPortable,   ///< OpenCL C.
    kExtension,  ///< cl_khr_integer_dot_product.
    kNvidia,     ///< dp4a: compute capability 6.1 and later.
  };
  bool is_cpu = false;  ///< A CPU under OpenCL: work-groups share a core, local memory is plain memory.
  Matrices matrices = Matrices::kPortable;
  std::size_t sub_group = 0;         ///< For kIntel, how many work-items multiply as one: 8 or 16.
  bool imitates_sub_groups = false;  ///< For tests: kIntel's layouts, and OpenCL C instead of its functions.
  bool imitates_fragments = false;   ///< For tests: kNvidia's kernel of few rows, whose hardware OpenCL C imitates.
  bool has_warpgroups = false;       ///< Four warps of kNvidia multiply as one, by wgmma: compute capability 9.0 alone.
  /// Values between kernels that are f32 to the graph lie as f16; sums are kept in f32.
  bool stores_f16 = false;
  /// Convolutions and products of 8-bit numbers are computed with these, not as reals.
  bool multiplies_numbers = false;
  Dots dots = Dots::kPortable;
  bool imitates_dots = false;  ///< For tests: kExtension's calls of functions that the kernels bring themselves.
  bool has_f64 = false;
  /// How values that are f32 to the graph lie between kernels.
  ElementType reals() const { return stores_f16 ? ElementType::kF16 : ElementType::kF32; }
  std::size_t max_group = 64;        ///< Work-items of a group.
  std::size_t local_bytes = 0;       ///< Local memory of a group.
  std::size_t twin_local_bytes = 0;  ///< That of a group of the device's twin; 0: the model does not run by it.
  std::size_t compute_units = 1;
  std::size_t vector_floats = 16;  ///< f32 in a vector register: 8 or 16.
  std::size_t alignment = 64;      ///< The alignment of buffers, in bytes.
  std::size_t most_items = 12;     ///< Items of a batch that one kernel takes as an argument each.
};

/// Whether barriers may stand in a branch that all work-items of a group take, as the standard says. PoCL 3.1 leaves out stores
/// behind such (devices/gpu/lower/joins_test.cpp, ProductsOfOneRow, finds them if this is true).
inline bool has_barriers_in_branches(const Target& target) { return target.matrices == Target::Matrices::kNvidia; }

/// Whether rows of f16 go through kernels/fragment_rows.cl.
inline bool takes_fragments(const Target& target) {
  return target.matrices == Target::Matrices::kNvidia || target.imitates_fragments;
}

/// Whether the device's work-items share tiles in local memory: CPUs have other kernels, and the smallest tiles have needs.
inline bool takes_matrices(const Target& target) {
  return !target.is_cpu && target.max_group >= 128 && target.local_bytes >= std::size_t{32} << 10;
}

}  // namespace tenon::inline v1::gpu_device
