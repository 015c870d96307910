// SPDX-License-Identifier: Apache-2.0
// Releasing models of any length, with any number of readers, and when memory has run out.
#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <new>

#include <gtest/gtest.h>

#include <tenon/graph/model.hpp>
#include <tenon/graph/model_ops.hpp>

namespace {
thread_local bool no_memory = false;
void* allocate(std::size_t size) {
  if (no_memory) return nullptr;
  return std::malloc(size ? size : 1);
}
}  // namespace

// If inlined, GCC reports a mismatch of allocator and deallocator.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
void* operator new(std::size_t size) {
  if (void* memory = allocate(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace tenon {
namespace graph_release_test {

std::shared_ptr<Model> chain(std::size_t length) {
  const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape(Shape{4}));
  std::shared_ptr<Node> last = x;
  for (std::size_t i = 0; i < length; ++i) last = std::make_shared<op::v0::Relu>(last);
  return std::make_shared<Model>(OutputVector{last->output(0)}, ParameterVector{x});
}

TEST(Release, NeedsNoMemory) {
  auto model = chain(2000);
  // Also a tree of two-input nodes: each leaves two sources behind.
  std::vector<Output<Node>> level;
  const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape(Shape{4}));
  for (int i = 0; i < 256; ++i) level.push_back(std::make_shared<op::v0::Sigmoid>(x)->output(0));
  while (level.size() > 1) {
    std::vector<Output<Node>> next;
    for (std::size_t i = 0; i < level.size(); i += 2)
      next.push_back(std::make_shared<op::v1::Add>(level[i], level[i + 1])->output(0));
    level = std::move(next);
  }
  auto tree = std::make_shared<Model>(OutputVector{level[0]}, ParameterVector{x});
  const std::weak_ptr<Node> inner = tree->get_results()[0]->get_input_node_shared_ptr(0);
  level.clear();
  no_memory = true;
  model.reset();
  tree.reset();
  no_memory = false;
  EXPECT_TRUE(inner.expired());
  EXPECT_EQ(x->count_output_readers(0), 0U);
  // Checks that the switch works; the call may throw, so it is not optimised away.
  no_memory = true;
  bool refused = false;
  try {
    ::operator delete(::operator new(8));
  } catch (const std::bad_alloc&) {
    refused = true;
  }
  no_memory = false;
  EXPECT_TRUE(refused);
}

TEST(Release, OfALongChainNeedsNoCallStack) {
  auto model = chain(300'000);
  model.reset();
}

double seconds_to_release_a_hub(std::size_t readers) {
  const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape(Shape{4}));
  NodeVector all;
  for (std::size_t i = 0; i < readers; ++i) all.push_back(std::make_shared<op::v0::Relu>(x));
  const std::clock_t begin = std::clock();
  while (!all.empty()) all.pop_back();
  EXPECT_EQ(x->count_output_readers(0), 0U);
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

TEST(Release, OfReadersOfAHubIsLinear) {
  seconds_to_release_a_hub(1000);
  double few = 1e9, many = 1e9;
  for (int round = 0; round < 3; ++round) {
    few = std::min(few, seconds_to_release_a_hub(20'000));
    many = std::min(many, seconds_to_release_a_hub(80'000));
  }
  EXPECT_LT(many, 8 * few + 0.02) << "20,000 readers: " << few << " s, 80,000: " << many << " s";
}

TEST(Release, InputsMoveBetweenSourcesInOrder) {
  const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape(Shape{4}));
  const auto y = std::make_shared<op::v0::Parameter>(element::f32, PartialShape(Shape{4}));
  NodeVector readers;
  for (int i = 0; i < 5; ++i) readers.push_back(std::make_shared<op::v1::Add>(x, x));
  EXPECT_EQ(x->count_output_readers(0), 10U);
  readers[2]->set_argument(1, y);
  readers[1]->set_argument(0, y);
  readers.erase(readers.begin());
  EXPECT_EQ(x->count_output_readers(0), 6U);
  EXPECT_EQ(x->get_users(), (NodeVector{readers[0], readers[1], readers[2], readers[3]}));
  EXPECT_EQ(y->get_users(), (NodeVector{readers[1], readers[0]}));
  x->output(0).replace(y);
  EXPECT_FALSE(x->has_readers());
  EXPECT_EQ(y->count_output_readers(0), 8U);
}

}  // namespace graph_release_test
}  // namespace tenon
