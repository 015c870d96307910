// SPDX-License-Identifier: Apache-2.0
// The pictures of streams on the page: detections are drawn on them once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include <tenon/core/metadata.hpp>
#include <tenon/elements/pipeline.hpp>
#include <tenon/elements/registry.hpp>

#include <tenon/tools/tenon/show/pictures/preview.hpp>

namespace tenon::tool {
namespace preview_test {

/// An object in each picture, or none.
class Finding final : public elements::TransformInplace {
 public:
  explicit Finding(bool finds) : finds_(finds) {}
  void process(std::uint32_t, Frame& frame) override {
    if (finds_) metadata::of(frame).add(metadata::Detection{{20, 20, 60, 60}, "car", 1, 0.9f});
  }

 private:
  const bool finds_;
};

elements::NodeSpec finding(const std::string& name, const std::string& from, bool finds) {
  elements::KnownElement known;
  known.description.name = "finding";
  known.description.role = elements::Role::kTransformInplace;
  known.factory = [finds](const elements::Parameters&, const elements::Environment&) -> elements::AnyElement {
    return std::make_unique<Finding>(finds);
  };
  elements::NodeSpec node;
  node.element = "finding";
  node.name = name;
  node.from = {from};
  node.own = std::make_shared<const elements::KnownElement>(std::move(known));
  return node;
}

/// JPEGs of stream 0, on which nothing draws, and of stream 1, on which "draw" does where `draws`.
std::map<std::uint32_t, std::string> pictures(bool finds, bool draws) {
  const std::map<std::string, std::string> small = {{"frames", "1"}, {"width", "160"}, {"height", "120"}};
  elements::PipelineSpec spec;
  spec.nodes.push_back({.element = "test", .name = "plain", .parameters = small});
  spec.nodes.push_back(finding("found", "plain", finds));
  spec.nodes.push_back({.element = "null", .name = "end"});
  spec.nodes.push_back({.element = "test", .name = "other", .parameters = small});
  spec.nodes.push_back(finding("found too", "other", finds));
  spec.nodes.push_back({.element = draws ? "draw" : "identity", .name = "last"});
  spec.nodes.push_back({.element = "null", .name = "end too"});
  const auto previews = std::make_shared<Previews>(true);
  add_previews(spec, previews);
  spec.nodes.back().queue->size =
      16;  // The queue has room for all frames: otherwise the sink would drop some if it is too slow.
  elements::Pipeline pipeline(spec);
  pipeline.start();
  EXPECT_TRUE(pipeline.wait(Clock::now() + std::chrono::seconds(30)));
  EXPECT_TRUE(pipeline.failures().empty());
  std::map<std::uint32_t, std::string> all;
  for (const auto& [stream, jpeg] : previews->all()) all[stream] = *jpeg;
  EXPECT_EQ(all.size(), 2u);
  return all;
}

TEST(Previews, ShowWhatWasFoundWhereNothingDrewIt) {
  const auto found = pictures(true, true), nothing = pictures(false, true), undrawn = pictures(true, false);
  EXPECT_NE(found.at(0), nothing.at(0)) << "another stream's element draws, not this one's";
  EXPECT_NE(found.at(1), nothing.at(1));
  EXPECT_EQ(undrawn.at(1), undrawn.at(0)) << "the same picture, with the same object drawn here";
}

}  // namespace preview_test
}  // namespace tenon::tool
