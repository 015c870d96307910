// SPDX-License-Identifier: Apache-2.0
// The element "track" in pipelines: it counts each stream for itself, and from the start after a restart.
#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <set>

#include <tenon/core/metadata.hpp>
#include <tenon/elements/pipeline.hpp>
#include <tenon/elements/registry.hpp>

namespace tenon::elements {
namespace track_test {

using namespace std::chrono_literals;

/// Two objects that move: one to the right, one to the left.
class Moving final : public TransformInplace {
 public:
  void process(std::uint32_t stream, Frame& frame) override {
    const float t = static_cast<float>(frame_++) * 4, y = static_cast<float>(stream) * 10;
    frame = Frame(frame);
    metadata::set(frame, std::make_shared<metadata::Collection>());
    metadata::of(frame).add(metadata::Detection{{t, y, t + 40, y + 40}, "a", 0, 0.9f, -1});
    metadata::of(frame).add(metadata::Detection{{400 - t, y, 440 - t, y + 40}, "b", 1, 0.9f, -1});
    metadata::of(frame).add(metadata::Detection{{0, 300, 40, 340}, "c", 2, 0.1f, -1});
  }

 private:
  int frame_ = 0;
};

std::mutex mutex;
std::map<std::uint32_t, std::map<std::string, std::set<std::int64_t>>> ids;

class Ids final : public Sink {
 public:
  void write(std::uint32_t stream, const Frame& frame) override {
    const std::lock_guard lock(mutex);
    for (const auto& one : metadata::find(frame)->all<metadata::Detection>())
      ids[stream][one->label].insert(one->track_id);
  }
};

TEST(TrackElement, CountsEachStreamForItself) {
  register_element({"moving", "Adds objects"},
                   [](const Parameters&, const Environment&) -> AnyElement { return std::make_unique<Moving>(); });
  register_element({"ids", "Keeps ids", Role::kSink, {}, true, true},
                   [](const Parameters&, const Environment&) -> AnyElement { return std::make_unique<Ids>(); });
  Pipeline pipeline({{{"test", "one", {{"frames", "90"}}},
                      {"test", "two", {{"frames", "50"}}},
                      {"moving", "", {}, {"one", "two"}},
                      {"track"},
                      {"ids"}}});
  pipeline.start();
  ASSERT_TRUE(pipeline.wait(Clock::now() + 30s));
  ASSERT_TRUE(pipeline.failures().empty()) << pipeline.failures()[0].message;
  for (const std::uint32_t stream : {0u, 1u}) {
    EXPECT_EQ(ids[stream]["a"], (std::set<std::int64_t>{1}));
    EXPECT_EQ(ids[stream]["b"], (std::set<std::int64_t>{2}));
    EXPECT_EQ(ids[stream]["c"], (std::set<std::int64_t>{-1})) << "too weak to begin a track";
  }
}

}  // namespace track_test
}  // namespace tenon::elements
