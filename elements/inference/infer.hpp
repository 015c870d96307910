// SPDX-License-Identifier: Apache-2.0
// The transform "infer": runs the frames of all streams, or objects in them, through one model, with several requests in flight.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <tenon/core/metadata.hpp>
#include <tenon/elements/element.hpp>
#include <tenon/elements/inference/picture_stage.hpp>
#include <tenon/elements/inference/shared_model.hpp>
#include <tenon/elements/inference/tiles.hpp>
#include <tenon/elements/parameters.hpp>
#include <tenon/frameworks/cpu/pool.hpp>
#include <tenon/vision/results.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace inference {

/// Frames leave in the order in which they came. A "picture" is a frame, or an object in one. Each request takes one picture, or
/// a batch of pictures from any streams. A failed inference fails the streams whose pictures were in it.
class Infer final : public Transform {
 public:
  Infer(const Parameters& given, const Environment& environment);
  ~Infer() override;

  Requirements wanted(const StreamInfo& in) const override;
  Context used_in(const StreamInfo& in) const override;
  StreamInfo open(std::uint32_t stream, const StreamInfo& in) override;
  void process(Item item, Output& output) override;
  std::optional<Deadline> due() const override;
  void proceed(Output& output) override;
  void end(std::uint32_t stream, Output& output) override;
  void interrupt() noexcept override { is_interrupted_ = true; }

 private:
  /// A frame that is inside the element.
  struct Passing {
    Item item;
    std::size_t open = 0;                           ///< The number of its pictures whose results are still missing.
    bool is_dropped = false;                        ///< Its stream has failed or restarted, so it is not emitted.
    std::vector<vision::SlicedObject> sliced = {};  ///< For tiles: the objects that were found, and where.
  };
  struct Picture {
    Passing* frame = nullptr;
    metadata::Id parent = metadata::kFrame;
    FrameGeometry geometry;
    std::size_t width = 0, height = 0;  ///< The size of the frame.
    std::uint32_t tile = 0;             ///< For tiles: the number of the tile.
  };
  struct Slot {
    InferRequest request;
    std::vector<Picture> pictures;
    Tensor input;                 ///< For batches and objects: the tensor that pictures are written to.
    std::vector<Tensor> outputs;  ///< The outputs of the last inference.
    LedgerEntry booked;           ///< The part of the request's ledger that is booked in this element's ledger.
    bool is_busy = false;
    /// For a model that keeps state: the stream that owns the request.
    std::optional<std::uint32_t> stream;
  };
  struct Stream {
    FrameInfo info;
    std::optional<vision::ResultReader> reader;
    std::optional<PictureStage> stage;  ///< For batches of whole frames.
    std::vector<PictureStage> tiles;    ///< For tiles: their stages, and that of the whole frame.
    Frame idle;                         ///< Replaces a frame in a request that has finished with it.
    std::int64_t frames = 0;
    std::vector<std::string> remarks;  ///< What the next frame's metadata say of the model.
    std::exception_ptr failure;
  };

  const SharedModel& model(const std::optional<FrameInfo>& frames) const;
  /// Whether the model gets its shape from frames whose size is not known yet.
  bool waits_for_size(bool is_known) const;
  void make_slots();
  void adapt(Stream& stream, const FrameInfo& info);
  void add_frame(Passing& frame, Stream& stream, Output& output);
  void add_objects(Passing& frame, Stream& stream, Output& output);
  void add_tiles(Passing& frame, Stream& stream, Output& output);
  void make_tiles(Stream& stream) const;
  void note_objects(const Picture& picture, std::size_t before);
  /// Writes a picture into the slot that is being filled, and starts that slot when it is full.
  void write_picture(Picture picture, const Frame& host, PictureStage& stage, Output& output);
  Frame on_host(const Frame& frame);
  Slot& free_slot(std::optional<std::uint32_t> stream, Output& output);
  void start(Slot& slot);
  /// Waits for the oldest inference. @return False: the deadline came first.
  bool finish_first(Deadline deadline);
  void collect(Slot& slot);
  void release(Slot& slot);
  void book(Slot& slot);
  void fail(const std::vector<Picture>& pictures, const std::exception_ptr& error);
  void rethrow_failure(std::uint32_t stream);
  void give_outputs(Slot& slot);
  void emit_done(Output& output);
  /// Waits for the oldest inference, within the element's time limit. @errors kDeadlineExceeded, kCancelled
  void finish_one();

  const std::string owner_, on_, decode_, name_;
  const std::map<std::string, std::string> decode_parameters_;
  const std::size_t requests_, max_objects_;
  const double confidence_, iou_, min_size_px_;
  const std::int64_t top_k_, interval_;
  const std::chrono::nanoseconds max_delay_, timeout_;
  const bool is_direct_;  ///< The device reads frames itself; else pictures are written into its input.
  const std::map<std::string, std::string> facts_;  ///< What the user states of the model's results.
  const TileSettings tiles_;
  std::vector<std::string> model_labels_, object_labels_;
  ModelSettings settings_;
  const std::shared_ptr<UsedFiles> files_;
  Ledger& ledger_;

  mutable std::mutex mutex_;
  mutable std::shared_ptr<const SharedModel> model_;
  std::map<std::uint32_t, Stream> streams_;
  std::deque<std::unique_ptr<Passing>> passing_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::deque<Slot*> running_;  ///< In the order in which they were started.
  Slot* filling_ = nullptr;
  Deadline filling_since_{};
  std::vector<cpu::Pool> output_pools_;
  std::vector<TensorInfo> output_infos_;
  std::atomic<bool> is_interrupted_{false};
};

}  // namespace inference
}  // namespace elements
}  // namespace v1
}  // namespace tenon
