// SPDX-License-Identifier: Apache-2.0
// Writes one kernel: its parameters, the macros by which its text reads and writes them, and its launch.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/devices/gpu/program/expression.hpp>
#include <tenon/devices/gpu/program/launch.hpp>
#include <tenon/devices/gpu/program/recipe.hpp>

namespace tenon::inline v1::gpu_device {

/// Texts see a parameter NAME as NAME(i), its element i, or as NAME_SET(i, value), and its address as NAME_p; f32 and f16
/// also as NAME_LOAD16(i), 16 of them as float16, and as NAME_LOAD8(i, to) and NAME_STORE8(i, from), 8 of them in an
/// array, where the address is a multiple of 16 bytes. Numbers of 8 bits have the latter two if their view has a meaning
/// (View::numbers), and LOAD8 as ints else; their addresses are multiples of 8 then. Their function begins with "KERNEL {", once. Numbers are constants of the text if the plan is for these shapes alone, else
/// arguments, so that one program serves all shapes.
class Kernel {
 public:
  static constexpr std::string_view kName = Recipe::kName;

  /// @param is_special  Numbers become constants of the text.
  Kernel(std::string kind, bool is_special) : kind_(std::move(kind)), is_special_(is_special) {}

  Kernel& reads(const std::string& name, const View& view);
  Kernel& writes(const std::string& name, const View& view);
  /// Reads what lies there, and writes over it.
  Kernel& updates(const std::string& name, const View& view);
  /// Memory of the kernel's own: no other kernel reads what it writes there.
  Kernel& uses(const std::string& name, const View& view);
  /// The same as rows, which may lie further apart than the view says if it is an application's tensor: NAME_IN(r, i) is
  /// element i of row r, the rows of all pictures counted on. @param view  Packed.
  Kernel& reads_rows(const std::string& name, const View& view);
  /// Three parameters of the text's own: memory, where in it, and how far rows are apart, in elements.
  Kernel& memory(const std::string& declaration, const View& view, std::int32_t pitch);
  /// Notes the nodes that the kernel computes by a source, for profiles. reads() does it.
  Kernel& computes(const ViewSource& source);
  /// A number that other shapes change; one name, one number. @errors kUnimplemented: it needs more than 32 bits.
  Kernel& number(const std::string& name, std::int64_t value);
  /// A macro: part of the text.
  Kernel& define(const std::string& name, const std::string& text);
  Kernel& define(const std::string& name, std::int64_t value) { return define(name, std::to_string(value)); }
  /// `count` floats that a group's work-items share, as NAME.
  Kernel& local(const std::string& name, std::size_t count) {
    recipe_.local(name, count);
    return *this;
  }
  /// Gives the text GROUP, which group it is along the first axis. A text that asks for it in no other way can be a part of
  /// a joined kernel (lower/build/joins.hpp); it declares what its work-items share by local() alone.
  /// @param is_part  False: it may not, as one with barriers where these are not known to work in branches.
  Kernel& group(bool is_part = true) {
    recipe_.group(is_part);
    return *this;
  }
  /// Gives the text GROUP_Z, which group it is along the third axis, and SET. A text that asks for it in no other way, and counts what its
  /// groups share for each SET, can be one kernel with several sets of arguments (lower/build/joins.hpp).
  Kernel& sets() {
    recipe_.sets();
    return *this;
  }
  /// The text waits for the kernel before it by itself (kernels/early_nvidia.cl).
  Kernel& waits() {
    recipe_.waits();
    return *this;
  }
  /// A function that stands before the kernel's, with a name that begins with kName.
  Kernel& helper(const std::string& text);
  /// The function's text, and what stands before it.
  Kernel& text(std::string_view text);
  /// The same of a text that stays where it is, as those of devices/gpu/kernels.
  Kernel& text(const char* permanent);
  /// @param local  None: the driver chooses.
  Kernel& over(std::vector<std::size_t> global, std::vector<std::size_t> local = {});

  /// Work-items of a sub-group, side by side in the work-group: for devices with cl_intel_required_subgroup_size.
  Kernel& sub_group(std::size_t size) {
    sub_group_ = size;
    return *this;
  }

  /// Its work-items leave loops at different times (kernels/prelude.cl says why that is told).
  Kernel& in_single_file() {
    is_in_single_file_ = true;
    return *this;
  }

  /// For reports: of products and convolutions.
  Kernel& multiply_adds(std::uint64_t count) {
    launch_.multiply_adds = count;
    return *this;
  }

  /// What the device's twin is to run instead. @param other  Has the same parameters. @param local_bytes  Its local memory.
  Kernel& for_twin(Kernel other, std::size_t local_bytes);

  bool is_special() const { return is_special_; }
  /// The kernel is of no use after it.
  Launch launch(KernelTexts& texts) &&;

 private:
  Kernel& parameter(const std::string& name, const View& view, bool written);
  Kernel& sourced(const std::string& name, const View& view);
  const std::string kind_;
  const bool is_special_;
  std::vector<std::string> numbers_;
  Recipe recipe_;
  std::size_t sub_group_ = 0;  ///< 0: the driver chooses.
  bool is_in_single_file_ = false;
  Launch launch_;
  std::shared_ptr<Kernel> for_twin_;
};

}  // namespace tenon::inline v1::gpu_device
