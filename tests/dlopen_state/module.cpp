// SPDX-License-Identifier: Apache-2.0
// A module built like plugins: hidden symbols, loaded with RTLD_LOCAL, linked with tenon::core.
#include <cstring>

#include <tenon/core/error.hpp>
#include <tenon/core/host.hpp>
#include <tenon/core/process_wide.hpp>

#include <tenon/tests/dlopen_state/state.hpp>

namespace {

using namespace tenon;

const dlopen_state::Module module{
    MODULE_NAME,
    [] { return &Ledger::process(); },
    [](const char* name) { return register_edge(name); },
    [] { return host_context(); },
    [] { return Context(make_ref<dlopen_state::StateContext>(MODULE_NAME)); },
    [](const Context& context) -> const char* {
      const auto* state = context.as<dlopen_state::StateContext>();
      return state ? state->owner() : nullptr;
    },
    [] { throw Error(Code::kDataLoss, "thrown by " MODULE_NAME, "some_call", -5); },
    [](void (*body)()) {
      try {
        body();
      } catch (const Error& error) {
        return error.code() == Code::kDataLoss && error.native_api() == "some_call" && error.native_code() == -5;
      } catch (...) {
        return false;
      }
      return false;
    },
    [](std::uint8_t value) {
      Tensor tensor(element::u8, {64});
      std::memset(tensor.data(), value, 64);
      return tensor;
    },
    [] { return make_ref<dlopen_state::StateContext>(MODULE_NAME)->id(); },
    [] { return &process_wide<dlopen_state::Shared>("dlopen_state::Shared"); },
};

}  // namespace

extern "C" TENON_API const dlopen_state::Module* tenon_state_module() { return &module; }
