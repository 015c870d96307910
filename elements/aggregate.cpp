// SPDX-License-Identifier: Apache-2.0
// The element "aggregate": joins what branches of one stream found into one frame again.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <tenon/core/metadata.hpp>
#include <tenon/elements/internal/basic.hpp>
#include <tenon/elements/internal/moved_places.hpp>

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

  /// Adds what the branch found, at the places of the frame's own size.
  static void join(Frame& frame, const Result& result) {
    if (!result.known) return;
    const float width = static_cast<float>(frame.info().upright_width_px());
    const float height = static_cast<float>(frame.info().upright_height_px());
    metadata::Collection& all = metadata::of(frame);
    if (width == result.width && height == result.height) return all.merge(*result.known);
    const auto moved = result.known->copy();
    const float by_x = width / result.width, by_y = height / result.height;
    move_places(*moved, [&](float& x, float& y) { x *= by_x, y *= by_y; });
    all.merge(*moved);
  }

  void emit_done(Output& output) {
    const auto has_passed = [this](const Branch& branch) { return branch.has_ended || branch.next > first_; };
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
