// SPDX-License-Identifier: Apache-2.0
// The element "aggregate": joins what branches of one stream found into one frame again.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <tenon/core/metadata.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/core/placement.hpp>
#include <tenon/elements/internal/basic.hpp>
#include <tenon/elements/moved_places.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace {

using std::chrono::milliseconds;

/// The frames of the first branch go on, each with what the other branches found in it. Only their metadata are kept, so that their
/// pictures can be written again meanwhile. Results may come before open().
class Aggregate final : public Transform {
 public:
  Aggregate(const Parameters& given, std::uint32_t branches)
      : max_delay_(given.integer("max_delay_ms")), branches_(std::max(branches, 1u) - 1) {}

  StreamInfo open(std::uint32_t, const StreamInfo& in) override {
    patience_ = max_delay_.count() > 0 ? max_delay_ : in.is_live ? kLivePatience : kPatience;
    StreamInfo out = in;
    if (in.is_live && !branches_.empty()) out.delay += patience_;
    return out;
  }

  void process(Item item, Output& output) override {
    if (item.branch == 0)
      add_frame(std::move(item));
    else
      add_result(branches_.at(item.branch - 1), std::move(item));
    emit_done(output);
  }

  std::optional<Deadline> due() const override {
    if (frames_.empty()) return std::nullopt;
    return frames_.front().since + patience_;
  }
  void proceed(Output& output) override { emit_done(output); }

  void end_branch(std::uint32_t, std::uint32_t branch, Output& output) override {
    if (branch != 0) branches_.at(branch - 1).has_ended = true;
    emit_done(output);
  }
  void skip_branch(std::uint32_t, std::uint32_t branch, std::int64_t until_ns, Output& output) override {
    if (branch != 0) branches_.at(branch - 1).skips_until_ns = until_ns;
    emit_done(output);
  }
  void end(std::uint32_t, Output& output) override {
    for (Branch& branch : branches_) branch.has_ended = true;
    emit_done(output);
    for (Branch& branch : branches_) branch = {};
    frames_.clear();
  }

 private:
  /// What tells the frames of a stream apart: the time, or else when the source read them, which branches keep.
  struct Key {
    std::int64_t timestamp_ns = kNoTimestamp;
    Clock::time_point born{};
    static Key of(const Item& item) {
      const std::int64_t time = item.frame.timestamp_ns();
      return {time, time == kNoTimestamp ? item.born : Clock::time_point{}};
    }
    friend bool operator==(const Key&, const Key&) = default;
  };
  /// What a branch found in a frame that the first branch has not brought yet.
  struct Result {
    Key key;
    Clock::time_point since{};
    std::shared_ptr<const metadata::Collection> known;
    float width = 0, height = 0;  ///< The size of its picture.
  };
  struct Waiting {
    Item item;
    Key key;
    Clock::time_point since{};
  };
  struct Branch {
    std::deque<Result> ahead = {};
    std::uint64_t next =
        0;  ///< The number of the first frame that the branch may still bring: a branch keeps their order.
    std::int64_t skips_until_ns = kNoTimestamp;  ///< It brings no frames before this time.
    bool has_ended = false;
  };

  static constexpr milliseconds kPatience{10'000}, kLivePatience{500};
  /// A branch that brings frames which the first one does not bring: their results are dropped.
  static constexpr std::size_t kMostAhead = 1024;

  void add_frame(Item item) {
    const Key key = Key::of(item);
    frames_.push_back({std::move(item), key, Clock::now()});
    const std::uint64_t number = first_ + frames_.size() - 1;
    for (Branch& branch : branches_) {
      const auto found =
          std::find_if(branch.ahead.begin(), branch.ahead.end(), [&](const Result& one) { return one.key == key; });
      if (found == branch.ahead.end()) continue;
      join(frames_.back().item.frame, *found);
      branch.ahead.erase(branch.ahead.begin(), found + 1);
      branch.next = number + 1;
    }
  }

  void add_result(Branch& branch, Item item) {
    Result result{Key::of(item), Clock::now(), metadata::find(item.frame),
                  static_cast<float>(item.frame.info().upright_width_px()),
                  static_cast<float>(item.frame.info().upright_height_px())};
    item.frame = {};
    if (result.key.timestamp_ns < branch.skips_until_ns) branch.skips_until_ns = kNoTimestamp;  // It began anew.
    for (std::size_t i = branch.next > first_ ? branch.next - first_ : 0; i < frames_.size(); ++i) {
      if (!(frames_[i].key == result.key)) continue;
      join(frames_[i].item.frame, result);
      branch.next = first_ + i + 1;
      branch.ahead.clear();
      return;
    }
    const auto is_old = [&](const Result& one) { return one.since + patience_ < result.since; };
    while (!branch.ahead.empty() && (branch.ahead.size() == kMostAhead || is_old(branch.ahead.front())))
      branch.ahead.pop_front();
    branch.ahead.push_back(std::move(result));
  }

  /// Adds what the branch found, at its places in the frame.
  static void join(Frame& frame, const Result& result) {
    if (!result.known) return;
    const double width = frame.info().upright_width_px(), height = frame.info().upright_height_px();
    metadata::Collection& all = metadata::of(frame);
    const metadata::Placement here = placement_of(all, width, height),
                              there = placement_of(*result.known, result.width, result.height);
    if (here == there && width == result.width && height == result.height) return all.merge(*result.known);
    // Both were made of one picture, perhaps of different sizes of it.
    const metadata::Affine scaled{0, here.width_px / there.width_px, 0, 0, 0, here.height_px / there.height_px};
    const metadata::Affine way = there.map.then(scaled).then(here.map.inverse());
    std::shared_ptr<metadata::Collection> moved = result.known->copy();
    for (const auto& placement : moved->all<metadata::Placement>()) moved->remove(placement.id);
    move_places(*moved, [&](float& at_x, float& at_y) {
      const double x = at_x, y = at_y;
      at_x = static_cast<float>(way.x(x, y)), at_y = static_cast<float>(way.y(x, y));
    });
    if (const Rotation turn = turn_of(way); turn != Rotation::kNone) turn_contents(*moved, turn);
    if (!(here.map == metadata::Affine{}))
      moved = moved->cropped({0, 0, static_cast<float>(width), static_cast<float>(height)});
    if (!(there.map == metadata::Affine{})) complete(*moved, all, area_of(way, result.width, result.height));
    all.merge(*moved);
  }

  /// The part of the frame that a picture of these extents shows.
  static metadata::Box area_of(const metadata::Affine& way, double width, double height) {
    const auto [left, right] = std::minmax({way.x(0, 0), way.x(width, height)});
    const auto [top, bottom] = std::minmax({way.y(0, 0), way.y(width, height)});
    return {static_cast<float>(left), static_cast<float>(top), static_cast<float>(right), static_cast<float>(bottom)};
  }

  /// What was known before a branch cut its picture may be there in part only, and is then as the frame has it.
  static void complete(metadata::Collection& found, const metadata::Collection& all, const metadata::Box& seen) {
    const auto part_of = [&](const metadata::Box& whole) {
      return metadata::Box{std::max(whole.x1, seen.x1), std::max(whole.y1, seen.y1), std::min(whole.x2, seen.x2),
                           std::min(whole.y2, seen.y2)};
    };
    const auto objects = all.all<metadata::Detection>();
    for (const auto& each : found.all<metadata::Detection>()) {
      for (const auto& whole : objects) {
        metadata::Detection part = *whole.value;
        part.box = part_of(part.box);
        if (!part.same_as(*each.value)) continue;
        part = *each.value;
        part.box = whole->box;
        found.replace(each.id, std::move(part));
        break;
      }
    }
    const auto masks = all.all<metadata::Segmentation>();
    for (const auto& each : found.all<metadata::Segmentation>()) {
      for (const auto& whole : masks) {
        if (whole.id != each.id || whole->labels != each->labels || whole->mask.shape().size() != 2) continue;
        // A cut leaves whole cells of the mask.
        const metadata::Box part = part_of(whole->box);
        const float wide = (whole->box.x2 - whole->box.x1) / static_cast<float>(whole->mask.shape()[1]),
                    high = (whole->box.y2 - whole->box.y1) / static_cast<float>(whole->mask.shape()[0]);
        if (std::abs(part.x1 - each->box.x1) <= wide && std::abs(part.x2 - each->box.x2) <= wide &&
            std::abs(part.y1 - each->box.y1) <= high && std::abs(part.y2 - each->box.y2) <= high)
          found.replace(each.id, metadata::Segmentation(*whole.value));
      }
    }
  }

  void emit_done(Output& output) {
    const auto has_passed = [this](const Branch& branch) {
      const std::int64_t time = frames_.front().key.timestamp_ns;
      const bool is_left_out =
          branch.skips_until_ns != kNoTimestamp && time != kNoTimestamp && time < branch.skips_until_ns;
      return branch.has_ended || branch.next > first_ || is_left_out;
    };
    const auto now = frames_.empty() ? Clock::time_point{} : Clock::now();
    while (!frames_.empty() &&
           (frames_.front().since + patience_ <= now || std::all_of(branches_.begin(), branches_.end(), has_passed))) {
      Item item = std::move(frames_.front().item);
      frames_.pop_front();
      ++first_;
      item.branch = 0;
      output.emit(std::move(item));
    }
  }

  const milliseconds max_delay_;
  milliseconds patience_{kPatience};
  std::vector<Branch> branches_;  ///< Those beside the first one.
  std::deque<Waiting> frames_;
  std::uint64_t first_ = 0;  ///< The number of frames_.front().
};

}  // namespace

KnownElement aggregate_element() {
  Description made;
  made.name = "aggregate";
  made.about =
      "Joins the branches of a stream: the frames of the first one go on, with what all branches found in them";
  made.role = Role::kTransform;
  made.parameters = {
      {"max_delay_ms",
       "How long a frame waits for what other branches find, in milliseconds; later results are dropped. 0: 500 for a "
       "live stream, 10000 for others",
       std::int64_t{0}, false, 0, 3'600'000}};
  made.has_thread = true;
  made.joins_branches = true;
  return {made, [](const Parameters& given, const Environment& environment) -> AnyElement {
            return std::make_unique<Aggregate>(given, environment.branches);
          }};
}

}  // namespace elements
}  // namespace v1
}  // namespace tenon
