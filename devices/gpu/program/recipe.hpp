// SPDX-License-Identifier: Apache-2.0
// What a kernel's text is made of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <tenon/devices/gpu/program/expression.hpp>
#include <tenon/devices/gpu/program/library.hpp>

namespace tenon::inline v1::gpu_device {

/// The parts of one kernel's text in order, in a form that takes little time to write and to compare: where shapes move,
/// nearly every kernel is one that is known, and its text is not written again.
class Recipe {
 public:
  /// Stands for the function's name, until the text's hash gives one.
  static constexpr std::string_view kName = "@name@";

  /// Memory with its macros (see Kernel), and where in it.
  void pointer(std::string_view name, const View& view, bool written);
  /// How far rows of NAME are apart: NAME_pitch.
  void pitch(std::string_view name) { add('r', name); }
  void number(std::string_view name) { add('n', name); }
  /// Parameters of the text's own.
  void declare(std::string_view declaration) { add('m', declaration); }
  void define(std::string_view name, std::string_view text) {
    add('d', name);
    add('=', text);
  }
  void helper(std::string_view text) { add('h', text); }
  /// NAME: `count` floats that a group's work-items share.
  void local(std::string_view name, std::size_t count) {
    add('l', name);
    add('=', std::to_string(count));
  }
  /// GROUP: which group it is, along the first axis. @param is_part  It may be a part of a joined kernel.
  void group(bool is_part) { add('g', is_part ? "part" : ""); }
  /// GROUP_Z: which group it is, along the third axis, and SET, of which set of arguments (in_sets()).
  void sets() { add('z', {}); }
  /// The text waits for the kernel before it by itself (kernels/early_nvidia.cl).
  void waits() { add('y', {}); }
  void text(std::string_view text) { add('t', text); }
  /// A text that stays where it is: its address stands for it.
  void text_at(const char* permanent) {
    bytes_ += 'e';
    bytes_.append(reinterpret_cast<const char*>(&permanent), sizeof permanent);
  }
  /// What stands before the function's name.
  void attribute(std::string_view text) { add('a', text); }

  /// @param kind  With which the name begins.
  KernelText written(const std::string& kind) const;
  /// One kernel of several, each of which gets a part of the groups along the first axis. It has all their parameters, and
  /// behind these the first group of every part but the first.
  /// @pre their texts have the same KernelText::joins.
  static KernelText joined(const std::string& kind, const std::vector<const Recipe*>& parts);
  /// The kernel with as many sets of arguments, each of which gets the same number of groups along the third axis. It has the parameters
  /// of all sets. @pre sets()
  KernelText in_sets(const std::string& kind, std::size_t count) const;
  const std::string& bytes() const { return bytes_; }

 private:
  void add(char what, std::string_view text) {
    (bytes_ += what) += text;
    bytes_ += kEnd;
  }
  static constexpr char kEnd = '\x1f';  ///< In no text.

  std::string bytes_;
};

/// The texts of kernels, as long as a walk over a model goes on. @thread one at a time.
class KernelTexts {
 public:
  std::shared_ptr<const KernelText> get(const std::string& kind, const Recipe& recipe);
  /// See Recipe::joined(), or, of one text as often, Recipe::in_sets().
  std::shared_ptr<const KernelText> joined(const std::vector<std::shared_ptr<const KernelText>>& parts);

 private:
  /// By the recipe's bytes, after the kind's.
  std::unordered_map<std::string, std::shared_ptr<const KernelText>> known_;
  std::string key_;  ///< Keeps its memory.
};

}  // namespace tenon::inline v1::gpu_device
