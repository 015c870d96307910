// SPDX-License-Identifier: Apache-2.0
// A compiled model as Python has it.
#pragma once

#include <utility>

#include <tenon/bindings/python/native/base/interpreter.hpp>
#include <tenon/runtime/compiled_model.hpp>

namespace tenon::python {

/// Its end may wait for threads of its device, which may be in functions of Python's: so it ends with the interpreter free.
/// @thread each holds the interpreter.
class Compiled : public CompiledModel {
 public:
  explicit Compiled(CompiledModel model) : CompiledModel(std::move(model)) {}
  Compiled(const Compiled&) = default;
  Compiled(Compiled&&) = default;
  Compiled& operator=(const Compiled&) = delete;
  ~Compiled() {
    if (!*this) return;
    if (is_forked()) {
      new CompiledModel(std::move(*this));
      return;
    }
    const Released released;
    CompiledModel::operator=({});
  }
};

}  // namespace tenon::python
