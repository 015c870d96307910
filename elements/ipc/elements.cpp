// SPDX-License-Identifier: Apache-2.0
// The source "ipc" and the sink "ipc_sink": frames of other processes, and for them, where they lie.
#include <tenon/elements/ipc/elements.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/elements/parameters.hpp>
#include <tenon/elements/places.hpp>
#include <tenon/frameworks/ipc/publisher.hpp>
#include <tenon/frameworks/ipc/subscriber.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace ipc {
namespace {

namespace processes = tenon::ipc;
using std::chrono::milliseconds;

/// `deadline`, or a moment from now, so that an interruption is noticed.
Deadline step(Deadline deadline) { return std::min<Deadline>(deadline, Clock::now() + milliseconds(50)); }

/// "frames.sock" of "ipc:frames.sock": both forms are taken.
std::string path_of(const std::string& given) { return given.starts_with("ipc:") ? given.substr(4) : given; }

class ProcessSource final : public Source {
 public:
  ProcessSource(const Parameters& given, const Environment&) : path_(path_of(given.text("socket"))) {
    limits_.mapped_bytes = static_cast<std::uint64_t>(given.integer("mapped_mb")) << 20;
  }

  StreamInfo open(Deadline deadline) override {
    subscriber_.reset();
    while (!subscriber_) {
      check();
      try {
        subscriber_.emplace(path_, step(deadline), limits_);
      } catch (const Error& error) {
        const bool may_come = error.code() == Code::kNotFound || error.code() == Code::kUnavailable ||
                              error.code() == Code::kDeadlineExceeded;
        if (!may_come || Clock::now() >= deadline) throw;
      }
    }
    const processes::Stream& stream = subscriber_->stream();
    return {stream.info, stream.frames_per_second, stream.is_live};
  }

  std::optional<Frame> read(Deadline deadline) override {
    for (;;) {
      check();
      try {
        return subscriber_->read(step(deadline));
      } catch (const Error& error) {
        if (error.code() != Code::kDeadlineExceeded || Clock::now() >= deadline) throw;
      }
    }
  }

  void interrupt() noexcept override { is_interrupted_ = true; }

  SourceReport report() const override {
    SourceReport told;
    told.lies_in = "another process";
    return told;
  }

 private:
  /// @errors kCancelled
  void check() const {
    if (is_interrupted_) throw Error(Code::kCancelled, "\"" + path_ + "\": interrupted while waiting for a frame");
  }

  const std::string path_;
  processes::LinkLimits limits_;
  std::optional<processes::Subscriber> subscriber_;
  std::atomic<bool> is_interrupted_{false};
};

class ProcessSink final : public Sink {
 public:
  ProcessSink(const Parameters& given, const Environment& environment)
      : path_(path_of(given.text("socket"))),
        when_slow_(given.text("when_slow")),
        first_(static_cast<std::size_t>(given.integer("subscribers"))) {
    options_.max_subscribers = static_cast<std::size_t>(given.integer("max_subscribers"));
    options_.max_held = static_cast<std::size_t>(given.integer("held"));
    options_.patience = milliseconds(given.integer("patience_ms"));
    options_.other_users = given.flag("other_users");
    options_.writable = given.flag("writable");
    options_.metadata = given.flag("metadata");
    options_.policy = given.text("zero_copy") == "require" ? ZeroCopy::kRequire : ZeroCopy::kPrefer;
    options_.ledger = environment.ledger;
    options_.stop = stop_.get_token();
    if (first_ > options_.max_subscribers)
      throw Error(Code::kInvalidArgument, given.owner() + ": it waits for " + std::to_string(first_) +
                                              " subscribers, and max_subscribers is " +
                                              std::to_string(options_.max_subscribers));
  }

  Requirements wanted(const StreamInfo&) const override { return processes::Publisher::wanted(); }
  Context used_in(const StreamInfo&) const override { return processes::context(); }

  void open(std::uint32_t, const StreamInfo& info) override {
    if (publisher_) return;  // The stream begins again: its subscribers stay.
    options_.stream = {info.frame, info.frames_per_second, info.is_live};
    options_.waits = when_slow_ == "wait" || (when_slow_ == "auto" && !info.is_live);
    publisher_.emplace(path_, options_);
  }

  void write(std::uint32_t, const Frame& frame) override {
    while (first_ != 0 && !publisher_->wait_for_subscribers(first_, step(Deadline::max())))
      if (stop_.stop_requested())
        throw Error(Code::kCancelled, "\"" + path_ + "\": interrupted while waiting for subscribers");
    first_ = 0;
    publisher_->publish(frame);
  }

  void finish() override {
    if (publisher_)
      (void)publisher_->end(Clock::now() + std::chrono::duration_cast<Clock::duration>(options_.patience));
    publisher_.reset();
  }

  void interrupt() noexcept override { stop_.request_stop(); }
  void resume() override {
    if (!stop_.stop_requested()) return;
    finish();  // The publisher has the stop; open() makes another. Its subscribers get an end: nothing has died.
    stop_ = std::stop_source();
    options_.stop = stop_.get_token();
  }

 private:
  const std::string path_, when_slow_;
  std::size_t first_;
  std::stop_source stop_;
  processes::PublisherOptions options_;
  std::optional<processes::Publisher> publisher_;
};

KnownElement process_source() {
  return {{"ipc",
           "Takes pictures from another process, which serves them with 'ipc_sink' or tenon serve-frames; nothing is "
           "copied",
           Role::kSource,
           {{"socket", "The Unix socket at which the process serves", std::string("frames.sock"), true},
            {"mapped_mb", "Most MiB of the other process's memory that are mapped at a time", std::int64_t{2048}, false,
             1, 1048576}}},
          [](const Parameters& given, const Environment& environment) -> AnyElement {
            return std::make_unique<ProcessSource>(given, environment);
          }};
}

KnownElement process_sink() {
  const processes::PublisherOptions usual;
  KnownElement made{
      {"ipc_sink",
       "Hands pictures to other processes over a Unix socket, without a copy where their memory has a descriptor",
       Role::kSink,
       {{"socket", "Where to listen; the file is made, and removed at the end", std::string("frames.sock"), true},
        choice(
            "when_slow",
            "Where a process holds as many pictures as it may: wait for it; skip: leave it out; auto: wait, unless the "
            "stream is live",
            "auto", {"auto", "wait", "skip"}),
        {"subscribers", "Processes to wait for before the first picture", std::int64_t{0}, false, 0, 1024},
        {"max_subscribers", "Most processes at a time", static_cast<std::int64_t>(usual.max_subscribers), false, 1,
         1024},
        {"held", "Pictures that one process may hold at a time", static_cast<std::int64_t>(usual.max_held), false, 1,
         256},
        {"patience_ms",
         "How long a process may hold a picture, in milliseconds; then it is disconnected, and the picture is used "
         "again",
         std::int64_t{2000}, false, 1, 3600000},
        {"other_users", "Also serves processes of other users, if the rights of the socket let them", false},
        {"writable", "Lets the processes write to the pictures", false},
        {"metadata", "What was found in the pictures goes along", true},
        choice("zero_copy", "Pictures whose memory has no descriptor: require: an error; prefer: they are copied once",
               "prefer", {"require", "prefer"})},
       false,
       true},
      [](const Parameters& given, const Environment& environment) -> AnyElement {
        return std::make_unique<ProcessSink>(given, environment);
      }};
  made.description.files = [](const Parameters& given, const Environment&) {
    return ElementFiles{{}, {path_of(given.text("socket"))}};
  };
  return made;
}

}  // namespace

std::vector<KnownElement> elements() { return {process_source(), process_sink()}; }

}  // namespace ipc
}  // namespace elements
}  // namespace v1
}  // namespace tenon
