// SPDX-License-Identifier: Apache-2.0
// The interfaces of elements, of which pipelines are made: sources, transforms and sinks of pictures or sound. An element is
// written as if it were alone: threads, queues, stopping and restarting belong to the pipeline.
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
#include <tenon/core/used_files.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {

/// Describes the stream that leaves a source or transform, before memory is allocated. Frames may change in flight: each
/// has its own info.
struct StreamInfo {
  FrameInfo frame;               ///< The info of the first frames; without format and size if they are not known yet.
  double frames_per_second = 0;  ///< 0: not known.
  bool is_live = false;          ///< The source delivers frames at its own pace and does not wait for slow readers.
  AudioInfo audio = {};          ///< The format of a stream of sound; without channels for a stream of pictures.
  bool is_audio() const { return audio.channels != 0; }
  /// How long a frame may wait for other frames, summed over all elements upstream. An element that collects frames (a
  /// batch) adds its own waiting time in open().
  std::chrono::nanoseconds delay{0};
  std::uint32_t aspect_num = 1, aspect_den = 1;  ///< Width to height of a pixel.
};

/// The facts that a source knows of its stream beside the frames. Reports show them.
struct SourceReport {
  std::string arrives_as = {};                    ///< The encoding: "h264", "YUYV"; empty: that of its frames.
  std::string lies_in = {};                       ///< The memory of its frames: "pool(memfd)", "vaapi(dma-buf)".
  std::optional<std::uint64_t> frame_count = {};  ///< The number of all frames, if it is known in advance.
  std::uint64_t lost = 0;     ///< Pictures that were captured and not read, or packets that did not arrive.
  std::uint64_t damaged = 0;  ///< Pictures and packets that came without some of their data.
};

/// A frame of one of the streams of an element: either a picture or sound; the other member is empty.
struct Item {
  std::uint32_t stream = 0;
  Frame frame;
  AudioFrame audio = {};
  /// When the source read the frame. An element that emits an item later than it received it copies this time to the item
  /// that it emits. If it is not set, the pipeline takes the time of the last item that came of the stream.
  Clock::time_point born = {};
  /// For elements that join branches of a stream: the branch on which it came, by the order of the node's `from`.
  std::uint32_t branch = 0;
};

/// Receives the results of an element. @thread one call at a time for each stream.
class Output {
 public:
  virtual ~Output() = default;
  /// May wait for room in a queue. Items that are emitted after the pipeline was stopped are dropped.
  virtual void emit(Item item) = 0;
};

/// The environment that the pipeline gives to an element.
struct Environment {
  std::string name;                         ///< The element's name in its pipeline, for messages.
  Ledger* ledger = nullptr;                 ///< The element's ledger, where it books copies, conversions and waits.
  std::vector<std::uint32_t> streams = {};  ///< The numbers of the streams that the element gets.
  /// The files of the whole pipeline, for elements that learn later which they read or write; may be null.
  std::shared_ptr<UsedFiles> files = {};
  std::uint32_t branches = 1;  ///< For an element that joins branches: the number of paths on which each stream comes.
};

/// The base of all elements.
/// @thread Members are called one at a time, on any thread. A shared element (one instance for several streams) is called
/// for all of them in turn. wanted() and interrupt() may be called at any time.
class TENON_API Element {
 public:
  virtual ~Element() = default;
  /// The requirements that frames must meet for the element to use them in place. The pipeline joins them with those of the
  /// other elements downstream, and passes the result to the source before the source allocates. The default accepts all
  /// frames. @thread any.
  virtual Requirements wanted(const StreamInfo& in) const;
  /// The context in which the element uses frames, if that is a device's context; null: the host. @thread any.
  virtual Context used_in(const StreamInfo& in) const;
  /// Whether frames must say where they come from. The pipeline then adds to what sources upstream give a metadata::Source (the
  /// source's node and the number of the frame in it) and a metadata::ReferenceTime of the clock "unix": when it was read.
  virtual bool wants_origin() const { return false; }
  /// Makes calls that wait end soon with kCancelled. Calls that come after it end in the same way: the element is not
  /// opened again, but for a sink after Sink::resume(). end() and finish() still come, and complete what needs no wait.
  /// @thread any, also during any other member.
  virtual void interrupt() noexcept {}

 protected:
  Element() = default;
  Element(const Element&) = delete;
  Element& operator=(const Element&) = delete;
};

class TENON_API Source : public Element {
 public:
  /// Opens the stream. It is called again after the stream has ended or failed, to restart it.
  /// @errors The message names what is missing or wrong.
  virtual StreamInfo open(Deadline deadline) = 0;
  /// Called once after open(), before the first read(), with what all consumers accept: joined in `wanted`, and one by one in
  /// `readers`. With the latter Router::plan() finds memory that serves them all. A source that does not allocate ignores it.
  virtual void allocate(const Requirements& /*wanted*/, std::span<const Party> /*readers*/) {}
  /// The next frame; nothing at the end of the stream. For streams of pictures.
  /// @errors kDeadlineExceeded: no frame came in time, and read() may be called again; any other error: the stream has failed.
  virtual std::optional<Frame> read(Deadline deadline);
  /// The same for a stream of sound.
  virtual std::optional<AudioFrame> read_audio(Deadline deadline);
  /// The present state of the stream that was opened last. @thread as read().
  virtual SourceReport report() const { return {}; }
};

/// Turns frames into other frames. It may emit more or fewer frames than it gets, and emit them later.
class TENON_API Transform : public Element {
 public:
  /// Called once for each stream, before its first frame. @return The stream that leaves the element.
  /// @errors kInvalidArgument, kUnimplemented: the element cannot take such frames; the message says which it takes.
  virtual StreamInfo open(std::uint32_t stream, const StreamInfo& in) = 0;
  /// Called after open() with what the consumers of the element's frames accept, as Source::allocate().
  virtual void allocate(std::uint32_t /*stream*/, const Requirements& /*wanted*/, std::span<const Party> /*readers*/) {}
  /// Processes one frame. The results of a stream must be emitted in the order of its frames.
  virtual void process(Item item, Output& output) = 0;
  /// The time at which work that waits for more input goes on without it (a batch that is not full); nothing: never. Return
  /// the present time for work that goes on whenever no frame waits. A time that has passed takes precedence over frames
  /// that wait.
  virtual std::optional<Deadline> due() const { return std::nullopt; }
  /// Called at the time of due(), or between two frames soon after it. Only elements with a thread of their own get it.
  virtual void proceed(Output&) {}
  /// The stream has ended or failed, or is about to restart: emits what is left of it. Called once for each open() that has
  /// returned, even if process() threw since.
  virtual void end(std::uint32_t /*stream*/, Output&) {}
  /// For elements that join branches: no more comes of the stream on this branch, while others go on. Not called for the last one.
  virtual void end_branch(std::uint32_t /*stream*/, std::uint32_t /*branch*/, Output&) {}
  /// For elements that join branches: no frame before this time comes of the stream on this branch any more.
  virtual void skip_branch(std::uint32_t /*stream*/, std::uint32_t /*branch*/, std::int64_t /*until_ns*/, Output&) {}
};

/// Changes frames, or adds to them. One frame comes out for each that goes in.
class TENON_API TransformInplace : public Element {
 public:
  virtual StreamInfo open(std::uint32_t /*stream*/, const StreamInfo& in) { return in; }
  virtual void process(std::uint32_t stream, Frame& frame) = 0;
  /// Called only for elements whose description says that they take sound.
  virtual void process_audio(std::uint32_t stream, AudioFrame& audio);
  /// The stream has ended or failed, as Transform::end().
  virtual void end(std::uint32_t /*stream*/) {}
};

class TENON_API Sink : public Element {
 public:
  virtual void open(std::uint32_t /*stream*/, const StreamInfo&) {}
  virtual void write(std::uint32_t stream, const Frame& frame) = 0;
  /// Called only for elements whose description says that they take sound.
  virtual void write_audio(std::uint32_t stream, const AudioFrame& audio);
  /// The stream has ended or failed, as Transform::end().
  virtual void end(std::uint32_t /*stream*/) {}
  /// All streams have ended, or the pipeline was stopped: files are completed. @errors The message names what could not be completed.
  virtual void finish() {}
  /// For hosts that let streams begin again after interrupt(), which holds no longer then. They are opened again; numbers of files and
  /// connections go on. @thread while no other member runs, after end() of all streams.
  virtual void resume() {}
};

}  // namespace elements
}  // namespace v1
}  // namespace tenon
