// SPDX-License-Identifier: Apache-2.0
// Every framework that is built is opened, its memory is made, written, read and given back, with each call failing in turn. The
// frameworks are those of the conformance suite.
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/tests/conformance/suite.hpp>
#include <tenon/tests/failing_calls/each_call.hpp>

namespace {

using namespace tenon;
using conformance::FrameworkUnderTest;
using tenon_test::CallKind;
using tenon_test::Work;

void use(FrameworkUnderTest& framework) {
  const Context context = framework.make_context();
  const TensorInfo info{element::u8, {1000}, {}};
  const FrameInfo picture{kNv12, 64, 48};
  for (const std::string& variant : framework.variants()) {
    if (const Tensor tensor = framework.make_tensor(context, variant, info)) {
      conformance::fill(tensor, 7);
      if (conformance::content(tensor) != conformance::pattern(1000, 7)) throw std::logic_error("wrong: other bytes");
    }
    (void)framework.make_frame(context, variant, picture);
  }
  framework.drop_idle();
}

/// Whether this machine has what the framework needs. Asked in a process of its own where the caller's must stay as it is.
bool is_here(FrameworkUnderTest& framework) {
  try {
    use(framework);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

int main(int count, char** arguments) {
  std::vector<Work> all;
  const bool lists = count > 1 && std::string(arguments[1]) == "list";
  for (const auto& each : conformance::all()) {
    FrameworkUnderTest& framework = *each;
    if (lists && !is_here(framework)) continue;
    Work work{std::string(framework.name()), [&framework] { use(framework); }};
    work.handles = [&framework] { return framework.live_objects(); };
    if (framework.fail_native_call(0)) {
      work.kinds.push_back(CallKind::kNative);
      work.fail_native = [&framework](long number) { framework.fail_native_call(static_cast<std::size_t>(number)); };
      work.native_failed = [&framework] { return framework.native_call_failed(); };
    }
    if (framework.name().find("opencl") != std::string_view::npos) work.kinds.push_back(CallKind::kOpenCl);
    all.push_back(work);
    work.name = "first_" + work.name;
    work.is_first = true;
    all.push_back(work);
  }
  return tenon_test::main_of(all, count, arguments);
}
