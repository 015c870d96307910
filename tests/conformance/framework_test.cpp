// SPDX-License-Identifier: Apache-2.0
// The conformance suite, first half: the memory of every framework, in every variant.
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include <tenon/tests/conformance/suite.hpp>

namespace tenon::conformance {
namespace framework_test {

struct MemoryCase {
  FrameworkUnderTest* framework;
  std::string variant;
};

void PrintTo(const MemoryCase& param, std::ostream* out) { *out << param.framework->name() << '/' << param.variant; }

std::vector<MemoryCase> memory_cases() {
  std::vector<MemoryCase> cases;
  for (const auto& framework : all()) {
    for (std::string& variant : framework->variants()) cases.push_back({framework.get(), std::move(variant)});
  }
  return cases;
}

class MemoryTest : public ::testing::TestWithParam<MemoryCase> {
 protected:
  void SetUp() override {
    const std::string test = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    if (const std::string reason = excluded(framework, test.substr(0, test.find('/'))); !reason.empty())
      GTEST_SKIP() << reason;
    try {
      context = framework.make_context();
      // Once, so that the framework and the standard library set up what they do on first use.
      make({element::u8, {16}, {}});
    } catch (const Error& error) {
      if (error.code() != Code::kUnavailable) throw;
      GTEST_SKIP() << error.what();
    }
  }
  void TearDown() override {
    framework.fail_native_call(0);
    context = {};
  }
  Tensor make(const TensorInfo& info, std::size_t offset = 0) {
    return framework.make_tensor(context, variant, info, offset);
  }

  FrameworkUnderTest& framework = *GetParam().framework;
  const std::string variant = GetParam().variant;
  Context context;
};

TEST_P(MemoryTest, NamesItsContextAndKind) {
  EXPECT_FALSE(context->name().empty());
  EXPECT_FALSE(context->kind().name().empty());
  if (const Tensor tensor = make({element::u8, {4}, {}})) {
    EXPECT_EQ(tensor.context(), context);
    EXPECT_EQ(tensor.kind(), context->kind());
  }
  for (const Edge* edge : context->edges()) {
    EXPECT_NE(std::string(edge->name()).find("->"), std::string::npos) << edge->name();
    EXPECT_TRUE(edge->from() == context->kind() || edge->to() == context->kind())
        << edge->name() << " belongs to another framework or to a bridge";
  }
}

TEST_P(MemoryTest, KeepsWhatIsWritten) {
  for (const TensorInfo& info : sample_infos()) {
    const Tensor tensor = make(info);
    if (!tensor) continue;
    EXPECT_EQ(tensor.element_type(), info.type);
    EXPECT_EQ(tensor.shape(), info.shape);
    if (!info.strides.empty()) {
      EXPECT_EQ(tensor.byte_strides(), info.strides) << "strides were dropped";
    }
    for (unsigned seed : {1u, 2u}) {  // Twice: over memory never written, and over other bytes.
      fill(tensor, seed);
      EXPECT_EQ(content(tensor), pattern(tensor.size_bytes(), seed)) << to_string(info.shape);
    }
  }
}

TEST_P(MemoryTest, WritesNothingOutsideTheTensor) {
  // Both neighbours in one memory, and the padding between rows, must survive a write to the one in the middle.
  const Tensor whole = make({element::u8, {8, 64}, {}});
  if (!whole) GTEST_SKIP() << framework.name() << " has no plain tensors";
  fill(whole, 1);
  const Tensor middle = whole.slice({2, 16}, {6, 40});
  fill(middle, 2);
  std::vector<std::byte> expected = pattern(8 * 64, 1);
  const std::vector<std::byte> inner = pattern(4 * 24, 2);
  for (std::size_t y = 0; y < 4; ++y) std::copy_n(&inner[y * 24], 24, &expected[(y + 2) * 64 + 16]);
  EXPECT_EQ(content(whole), expected);
  EXPECT_EQ(content(middle), inner);
}

TEST_P(MemoryTest, HonoursOffsets) {
  const TensorInfo info{element::u16, {100}, {}};
  const Tensor tensor = make(info, 256);
  if (!tensor) GTEST_SKIP() << framework.name() << " has no plain tensors";
  EXPECT_EQ(tensor.offset(), 256u);
  fill(tensor, 3);
  EXPECT_EQ(content(tensor), pattern(200, 3));
  EXPECT_EQ(content(Tensor({element::u8, {200}, {}}, tensor.memory(), 256, tensor.lease())), pattern(200, 3));
}

TEST_P(MemoryTest, IsReleasedOnceWhateverGoesFirst) {
  const Census before = take_census();
  for (int order = 0; order < 3; ++order) {
    {
      Tensor tensor = make({element::f32, {64, 64}, {}});
      if (!tensor) continue;
      fill(tensor, 4);
      Tensor copy = tensor;
      Tensor part = tensor.slice({1, 1}, {3, 3});
      const std::vector<std::byte> whole_bytes = pattern(copy.size_bytes(), 4), part_bytes = content(part);
      if (order == 0) tensor = {}, copy = {};  // Only the region keeps the memory alive.
      if (order == 1) part = {}, tensor = {};
      if (order == 2) context = {};  // Memory keeps what it needs of its context.
      const Tensor& left = part ? part : copy;
      // The next owner of freed bytes writes over them: the remaining tensor must not be affected.
      const Tensor next = context ? make({element::f32, {64, 64}, {}}) : Tensor();
      if (next) fill(next, 5);
      EXPECT_EQ(content(left), part ? part_bytes : whole_bytes) << "order " << order;
    }
    if (order == 2) context = framework.make_context();
  }
  EXPECT_EQ(settled_census(before), before);
}

TEST_P(MemoryTest, IsReleasedOnceOnAnotherThread) {
  const Census before = take_census();
  for (int i = 0; i < 8; ++i) {
    Tensor tensor = make({element::u8, {4096}, {}});
    std::thread([moved = std::move(tensor)]() mutable { moved = {}; }).join();
  }
  EXPECT_EQ(settled_census(before), before);
}

TEST_P(MemoryTest, NativeFailure) {
  const Census before = take_census();
  const std::string reason = excluded(framework, "NativeFailure");
  if (!framework.fail_native_call(0) && reason.empty())
    FAIL() << "cannot make native calls fail, and no exclusion says why";
  std::size_t failures = 0;
  for (std::size_t n = 1; n < 64; ++n) {
    framework.fail_native_call(n);
    bool threw = false;
    try {
      const Tensor tensor = make({element::f32, {64, 64}, {}});
      if (tensor) fill(tensor, 5);
      if (tensor) content(tensor);
    } catch (const Error& error) {
      threw = true;
      EXPECT_FALSE(error.native_api().empty()) << "the error does not name the native call: " << error.what();
      EXPECT_NE(error.native_code(), 0) << error.what();
    }
    const bool failed = framework.native_call_failed();
    framework.fail_native_call(0);
    EXPECT_EQ(settled_census(before), before) << "call " << n << " failed and something was left behind";
    EXPECT_EQ(threw, failed) << "call " << n;
    if (!failed) break;
    ++failures;
  }
  EXPECT_GT(failures, 0u) << "no native call was made to fail";
  const Tensor tensor = make({element::u8, {100}, {}});  // And the framework still works.
  if (tensor) {
    fill(tensor, 6);
    EXPECT_EQ(content(tensor), pattern(100, 6));
  }
}

TEST_P(MemoryTest, AllocatesAsRequired) {
  Requirements wanted;
  wanted.size_bytes = 100'000;
  wanted.alignment = 256;
  wanted.tail_padding = 64;
  wanted.host_access = true;
  try {
    const Ref<Memory> memory = context->allocate(wanted);
    EXPECT_GE(memory->size_bytes(), 100'064u);
    EXPECT_EQ(memory->context(), context);
    ASSERT_NE(memory->host(), nullptr) << "host access was asked for";
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory->host()) % 256, 0u);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kUnimplemented) << error.what();  // "This context wraps memory": a normal answer.
  }
  wanted.fd = FdKind::kDmabuf;
  try {
    const Ref<Memory> memory = context->allocate(wanted);
    EXPECT_EQ(memory->fd_kind().name(), FdKind::kDmabuf.name()) << "a dma-buf was asked for and something else given";
  } catch (const Error& error) {
    EXPECT_TRUE(error.code() == Code::kUnimplemented || error.code() == Code::kUnavailable) << error.what();
  }
}

TEST_P(MemoryTest, FramesKeepEachPlaneApart) {
  const Census before = take_census();
  for (PixelFormat format : sample_formats()) {
    const PixelFormatInfo& layout = format_info(format);
    for (const auto& [width, height] : {std::pair{64u, 48u}, std::pair{34u, 18u}}) {
      const FrameInfo info{format, width, height};
      const Frame frame = framework.make_frame(context, variant, info);
      if (!frame) {
        EXPECT_FALSE(excluded(framework, "format:" + std::string(layout.name)).empty())
            << layout.name << " is missing and no exclusion says why";
        continue;
      }
      ASSERT_EQ(frame.plane_count(), layout.plane_count) << layout.name;
      EXPECT_EQ(frame.info().format, format);
      for (std::size_t p = 0; p < frame.plane_count(); ++p) fill(frame.plane(p), static_cast<unsigned>(10 + p));
      for (std::size_t p = 0; p < frame.plane_count(); ++p) {
        EXPECT_EQ(frame.plane(p).shape(), plane_shape(info, p)) << layout.name;
        EXPECT_EQ(content(frame.plane(p)), pattern(frame.plane(p).size_bytes(), static_cast<unsigned>(10 + p)))
            << layout.name << " plane " << p << ": another plane's bytes, or overlapping planes";
      }
    }
  }
  EXPECT_EQ(settled_census(before), before);
}

TEST_P(MemoryTest, FramePlanesKeepTheFrameAlive) {
  const Census before = take_census();
  Frame frame = framework.make_frame(context, variant, {kNv12, 64, 48});
  if (!frame) GTEST_SKIP() << framework.name() << " has no nv12: " << excluded(framework, "format:nv12");
  fill(frame.plane(1), 7);
  Tensor chroma = frame.plane(1);
  frame = {};
  EXPECT_EQ(content(chroma), pattern(chroma.size_bytes(), 7));
  chroma = {};
  EXPECT_EQ(settled_census(before), before);
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(MemoryTest);
INSTANTIATE_TEST_SUITE_P(Frameworks, MemoryTest, ::testing::ValuesIn(memory_cases()), [](const auto& info) {
  return std::string(info.param.framework->name()) + "_" + info.param.variant;
});

TEST(ConformanceSuite, RunsOverSomething) {
  EXPECT_FALSE(memory_cases().empty()) << "no framework was linked into the suite";
}

}  // namespace framework_test
}  // namespace tenon::conformance
