// SPDX-License-Identifier: Apache-2.0
// What is specific to the null framework: wrapping handles and returning them. The conformance suite tests the rest.
#include <tenon/frameworks/null/null.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tenon/core/proof.hpp>
#include <tenon/core/router.hpp>

#include <tenon/tests/support/error_of.hpp>

namespace null_test {

using namespace tenon;
using ::testing::HasSubstr;

TEST(NullBlock, IsTheHandleOfAMappedHostTensor) {
  Router router;
  router.add(null::context());
  Tensor source(element::f32, {16});
  const Tensor mapped = router.map(source, null::context(), Access::kReadWrite);
  null::Block* block = null::block(mapped);
  void* address = nullptr;
  ASSERT_EQ(null::native::null_map(block, &address), null::native::kSuccess);
  EXPECT_EQ(address, source.data());
  EXPECT_EQ(block->references, 1u);
  EXPECT_EQ(null::block(router.map(source, null::context())), block) << "the second map made another block";
}

TEST(NullBlock, OfAnotherFrameworksTensorIsRefusedWithTheRemedy) {
  const Error error = error_of([] { null::block(Tensor(element::f32, {4})); });
  EXPECT_EQ(error.code(), Code::kInvalidArgument);
  EXPECT_THAT(error.what(), HasSubstr("Router"));
  EXPECT_EQ(error_of([] { null::block(Tensor()); }).code(), Code::kInvalidArgument);
}

TEST(NullWrap, TakesAReferenceOfItsOwn) {
  const std::size_t before = null::native::live_blocks();
  null::Block* block = nullptr;
  ASSERT_EQ(null::native::null_create(64, nullptr, null::native::kHostVisible, &block), 0);
  {
    const Tensor tensor = null::wrap(null::context(), block, {element::u8, {64}, {}});
    EXPECT_EQ(block->references, 2u);
    EXPECT_EQ(null::block(tensor), block);
    EXPECT_EQ(error_of([&] { null::wrap(null::context(), block, {element::u8, {65}, {}}); }).code(), Code::kOutOfRange);
    EXPECT_EQ(block->references, 2u) << "the failed wrap kept a reference";
  }
  EXPECT_EQ(block->references, 1u);
  null::native::null_release(block);
  EXPECT_EQ(null::native::live_blocks(), before);
}

TEST(NullAdopt, ReleasesTheBlockAlsoWhenItFails) {
  const std::size_t before = null::native::live_blocks();
  null::Block* block = nullptr;
  ASSERT_EQ(null::native::null_create(64, nullptr, null::native::kPrivate, &block), 0);
  EXPECT_EQ(error_of([&] { null::adopt(null::context(), block, {element::u8, {65}, {}}); }).code(), Code::kOutOfRange);
  EXPECT_EQ(null::native::live_blocks(), before);
  EXPECT_EQ(error_of([] {
              null::adopt(null::context(), nullptr, {element::u8, {1}, {}});
            }).code(),
            Code::kInvalidArgument);
}

TEST(NullEdges, AreProvedSharedCopyingAndRefused) {
  const Context here = null::make_context(), there = null::make_context();
  Router router;
  for (const Context& context : {host_context(), here}) router.add(context);
  EXPECT_EQ(prove(router, host_context(), here, 100'000).proof, Proof::kProved);
  const ProofResult out = prove(router, here, host_context(), 100'000);
  EXPECT_EQ(out.proof, Proof::kCopies) << out.reason;  // allocate() without host access gives a private block.

  Requirements wanted;
  wanted.size_bytes = 64;
  const Tensor block({element::u8, {64}, {}}, here->allocate(wanted));
  Router direct;
  direct.add(here);
  const std::string text = direct.explain(describe(block), there, Access::kReadWrite);
  EXPECT_THAT(text, HasSubstr("null.block->null.block"));
  EXPECT_THAT(text, HasSubstr("cannot export a block"));
}

TEST(NullEdges, PrivateBlockReachesAnotherContextThroughTheHostAndIsBookedAsCopied) {
  const Context here = null::make_context(), there = null::make_context();
  Router router;
  for (const Context& context : {host_context(), here, there}) router.add(context);
  Requirements wanted;
  wanted.size_bytes = 256;
  const Tensor block({element::u8, {256}, {}}, here->allocate(wanted));
  std::vector<std::byte> bytes(256, std::byte{7});
  here->write(block, bytes);
  Ledger ledger;
  MapOptions options;
  options.ledger = &ledger;
  const Tensor moved = router.map(block, there, options);
  std::vector<std::byte> read(256);
  there->read(moved, read);
  EXPECT_EQ(read, bytes);
  EXPECT_EQ(ledger.total().copied, 256u);
  EXPECT_EQ(ledger.total().maps, 2u);
}

TEST(NullEdges, MisalignedHostMemoryIsRefusedByName) {
  alignas(64) std::byte bytes[128];
  const Tensor odd(element::u8, {64}, bytes + 8);
  Router router;
  router.add(null::context());
  const Error error = error_of([&] { router.map(odd, null::context()); });
  EXPECT_EQ(error.code(), Code::kFailedPrecondition);
  EXPECT_THAT(error.what(), HasSubstr("aligned to 8 bytes"));
}

TEST(NullEdges, CopyWaitsForTheLastWriteAndReportsItsFailure) {
  const Context here = null::make_context();
  Router router;
  router.add(here);
  Requirements wanted;
  wanted.size_bytes = 64;
  const Tensor block({element::u8, {64}, {}}, here->allocate(wanted));
  auto timeline = make_ref<HostTimeline>();
  const TimelinePoint point = timeline->next();
  block.memory()->hazards().wrote(point);
  MapOptions options;
  options.deadline = Clock::now() + std::chrono::milliseconds(5);
  EXPECT_EQ(error_of([&] { router.map(block, host_context(), options); }).code(), Code::kDeadlineExceeded);
  timeline->fail(point.value(), std::make_exception_ptr(Error(Code::kDataLoss, "the kernel died")));
  EXPECT_EQ(error_of([&] { router.map(block, host_context()); }).code(), Code::kDataLoss);
}

TEST(NullErrors, NameTheNativeCallAndItsCode) {
  null::native::fail_call(1);
  Requirements wanted;
  wanted.size_bytes = 64;
  const Error error = error_of([&] { null::context()->allocate(wanted); });
  EXPECT_EQ(error.native_api(), "null_create");
  EXPECT_EQ(error.native_code(), null::native::kInjected);
  EXPECT_THAT(error.what(), HasSubstr("64 bytes"));
}

}  // namespace null_test
