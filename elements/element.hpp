// SPDX-License-Identifier: Apache-2.0
// What pipelines are made of: sources, transforms and sinks of pictures or sound. An element is written as if it were alone: threads,
// queues, stopping and restarting belong to the pipeline.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <tenon/core/audio.hpp>
#include <tenon/core/context.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/frame.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/router.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {

/// What comes out of a source or transform, known before memory is allocated. Frames may change in flight: each has its
/// own info.
struct StreamInfo {
  FrameInfo frame;               ///< Of the first frames; without format and size if it is not known yet.
  double frames_per_second = 0;  ///< 0: not known.
  bool is_live = false;          ///< The source does not wait for whoever is slow.
  AudioInfo audio = {};          ///< Of a stream of sound, which has no pictures; else without channels.
  bool is_audio() const { return audio.channels != 0; }
  /// How long a frame may wait for others, in all elements before together: whoever waits (for a batch) adds to it in open().
  std::chrono::nanoseconds delay{0};
};

/// What a source knows of its stream beside the frames: for reports.
struct SourceReport {
  std::string arrives_as = {};                    ///< "h264", "YUYV"; empty: as its frames are.
  std::string lies_in = {};                       ///< Where frames are put: "pool(memfd)", "vaapi(dma-buf)".
  std::optional<std::uint64_t> frame_count = {};  ///< If it is known beforehand.
  std::uint64_t lost = 0;     ///< Pictures that were taken and not read, or packets that did not arrive.
  std::uint64_t damaged = 0;  ///< Pictures and packets that came without some of their data.
};

/// A frame of one of the streams that meet in an element: a picture or sound, the other is empty.
struct Item {
  std::uint32_t stream = 0;
  Frame frame;
  AudioFrame audio = {};
  /// When the source had it: who keeps items and gives them later passes it on. Without it the time of the stream's last
  /// item counts.
  Clock::time_point born = {};
};

/// Where an element's results go. @thread one at a time for one stream.
class Output {
 public:
  virtual ~Output() = default;
  /// May wait for room in a queue. What was emitted after the pipeline was stopped is dropped.
  virtual void emit(Item item) = 0;
};

/// What the pipeline gives to its elements.
struct Environment {
  std::string name;          ///< Of the element in its pipeline, for messages.
  Ledger* ledger = nullptr;  ///< Of the element; what is copied, converted and waited for is booked here.
  std::vector<std::uint32_t> streams = {};  ///< Numbers of those that come to it.
};

/// @thread Members are called one at a time, whatever the thread. A shared element (of several
/// streams) is called for all of them in turn. wanted() and interrupt() may come at any time.
class TENON_API Element {
 public:
  virtual ~Element() = default;
  /// @thread any. What frames must be like for the element to use them in place; joined with what others downstream want, and given to
  /// the source before it allocates. The default accepts all.
  virtual Requirements wanted(const StreamInfo& in) const;
  /// @thread any. The context in which it uses frames, where that is a device's; null: on the host.
  virtual Context used_in(const StreamInfo& in) const;
  /// Makes calls that wait end soon, with kCancelled, also those that come after it: nothing is opened again. @thread any,
  /// during any other member.
  virtual void interrupt() noexcept {}

 protected:
  Element() = default;
  Element(const Element&) = delete;
  Element& operator=(const Element&) = delete;
};

class TENON_API Source : public Element {
 public:
  /// Opens it, again after it has ended or failed. @errors what is missing or wrong, named.
  virtual StreamInfo open(Deadline deadline) = 0;
  /// Once after open(), before the first read(): what all consumers accept, joined and one by one. With the latter Router::plan()
  /// finds memory that serves all. A source that does not allocate ignores it.
  virtual void allocate(const Requirements& /*wanted*/, std::span<const Party> /*readers*/) {}
  /// The next frame; nothing at the end of the stream. For streams of pictures.
  /// @errors kDeadlineExceeded: nothing came in time, and read() may be called again; else the stream has failed.
  virtual std::optional<Frame> read(Deadline deadline);
  /// The same of a stream of sound.
  virtual std::optional<AudioFrame> read_audio(Deadline deadline);
  /// Of the stream that was opened last, as of now. @thread as read().
  virtual SourceReport report() const { return {}; }
};

/// From frames to frames: others, more, fewer, later.
class TENON_API Transform : public Element {
 public:
  /// Once for each stream, before its first frame. @return what comes out. @errors kInvalidArgument, kUnimplemented: it
  /// cannot take such frames; the message says which it takes.
  virtual StreamInfo open(std::uint32_t stream, const StreamInfo& in) = 0;
  /// After open(): what those accept who get its frames, as Source::allocate().
  virtual void allocate(std::uint32_t /*stream*/, const Requirements& /*wanted*/, std::span<const Party> /*readers*/) {}
  /// Results of a stream are emitted in the order of its frames.
  virtual void process(Item item, Output& output) = 0;
  /// When work that waits for more input is to go on without it (a batch that is not full); nothing: never. The present time
  /// is for work that goes on whenever no frame waits; one that has passed comes before frames that do.
  virtual std::optional<Deadline> due() const { return std::nullopt; }
  /// At that time, or between two frames soon after it. Of elements with a thread.
  virtual void proceed(Output&) {}
  /// The stream has ended, failed or starts anew: emits what is left of it. Once for each open() that has returned, also if
  /// process() threw since.
  virtual void end(std::uint32_t /*stream*/, Output&) {}
};

/// Adds to frames, or changes them, one for one.
class TENON_API TransformInplace : public Element {
 public:
  virtual StreamInfo open(std::uint32_t /*stream*/, const StreamInfo& in) { return in; }
  virtual void process(std::uint32_t stream, Frame& frame) = 0;
  /// Of elements whose description says that they take sound.
  virtual void process_audio(std::uint32_t stream, AudioFrame& audio);
  /// As Transform::end().
  virtual void end(std::uint32_t /*stream*/) {}
};

class TENON_API Sink : public Element {
 public:
  virtual void open(std::uint32_t /*stream*/, const StreamInfo&) {}
  virtual void write(std::uint32_t stream, const Frame& frame) = 0;
  /// Of elements whose description says that they take sound.
  virtual void write_audio(std::uint32_t stream, const AudioFrame& audio);
  /// The stream has ended or failed, as Transform::end().
  virtual void end(std::uint32_t /*stream*/) {}
  /// All streams have: files are completed. @errors what could not be.
  virtual void finish() {}
};

}  // namespace elements
}  // namespace v1
}  // namespace tenon
