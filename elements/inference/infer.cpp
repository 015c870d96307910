// SPDX-License-Identifier: Apache-2.0
// The transform "infer": a ring of requests, and a queue of frames that wait for their results.
#include <tenon/elements/inference/infer.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/host.hpp>
#include <tenon/core/router.hpp>
#include <tenon/elements/inference/texts.hpp>
#include <tenon/elements/internal/in_steps.hpp>
#include <tenon/frameworks/cpu/cpu.hpp>
#include <tenon/graph/input_stage/input_stage.hpp>
#include <tenon/graph/knowledge/keys.hpp>
#include <tenon/graph/knowledge/model_info.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/runtime/properties.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace inference {
namespace {

/// How long one wait for a result may delay the next frame.
constexpr auto kStep = std::chrono::milliseconds(1);
/// How soon a wait notices an interruption.
constexpr auto kPatience = std::chrono::milliseconds(50);
/// Tensors of results that may be in use downstream at once.
constexpr std::size_t kOutputs = 256;
/// The value of `shape` for "as large as the first frames".
constexpr const char* kShapeOfFrames = "frame";

/// Texts of the form KEY=VALUE. @errors kInvalidArgument: something else.
std::map<std::string, std::string> pairs_of(const Parameters& given, const std::string& parameter, char separator) {
  std::map<std::string, std::string> pairs;
  for (const std::string& pair : split(given.text(parameter), separator)) {
    const auto equals = pair.find('=');
    if (equals == 0 || equals == std::string::npos)
      throw Error(Code::kInvalidArgument, given.owner() + ": " + parameter + ": \"" + pair + "\" is not KEY=VALUE");
    pairs[pair.substr(0, equals)] = pair.substr(equals + 1);
  }
  return pairs;
}

/// All that parameters state of the model. @errors kInvalidArgument: an unknown key, or a value that cannot be.
std::map<std::string, std::string> stated_facts(const Parameters& given) {
  constexpr std::pair<const char*, const char*> names[] = {
      {"color_space", "color_space"}, {"mean", "mean_values"}, {"scale", "scale_values"}, {"resize", "resize_type"},
      {"pad_value", "pad_value"},     {"layout", "layout"},    {"model_labels", "labels"}};
  std::map<std::string, std::string> facts;
  const auto add = [&](const std::string& parameter, const std::string& key, const std::string& value) {
    try {
      facts[key] = checked_fact(key, value);
    } catch (const Error& error) {
      throw Error(error.code(), given.owner() + ": " + parameter + ": " + error.what());
    }
  };
  for (const auto& [key, value] : pairs_of(given, "facts", ';')) add("facts", key, value);
  if (const std::string decode = given.text("decode"); decode != "auto" && decode != "none")
    facts["model_type"] = decode;
  for (const auto& [parameter, key] : names) {
    if (const std::string value = given.text(parameter); !value.empty() && value != "auto") add(parameter, key, value);
  }
  return facts;
}

std::map<std::string, std::string> facts_of(const Parameters& given, bool are_of_input) {
  std::map<std::string, std::string> facts = stated_facts(given);
  std::erase_if(facts, [&](const auto& fact) { return find_fact_key(fact.first)->is_of_input != are_of_input; });
  return facts;
}

ModelSettings settings_from(const Parameters& given) {
  ModelSettings settings;
  settings.side_file = given.text("side_file");
  settings.facts = facts_of(given, true);
  settings.model = given.text("model");
  settings.device = given.text("device");
  settings.shape = given.text("shape");
  settings.precision = given.text("precision");
  settings.cache_dir = given.text("cache_dir");
  settings.properties = given.text("properties");
  settings.zero_copy = given.text("zero_copy");
  settings.batch = static_cast<std::size_t>(given.integer("batch"));
  settings.takes_frames = settings.batch == 1 && given.text("on") == "frame";
  return settings;
}

std::chrono::nanoseconds milliseconds(double count) {
  return std::chrono::nanoseconds(static_cast<std::int64_t>(count * 1e6));
}

/// The pixels that `box` touches, clipped to a picture of that size; empty if the box lies outside.
PixelRect pixels_of(const metadata::Box& box, std::size_t width, std::size_t height) {
  const auto clamped = [](float value, std::size_t limit) {
    return value > 0 ? static_cast<std::size_t>(std::min(value, static_cast<float>(limit)))
                     : 0;  // Also what is no number.
  };
  const std::size_t x1 = clamped(std::floor(box.x1), width), x2 = clamped(std::ceil(box.x2), width);
  const std::size_t y1 = clamped(std::floor(box.y1), height), y2 = clamped(std::ceil(box.y2), height);
  if (!(x2 > x1) || !(y2 > y1)) return {};
  return {x1, y1, x2 - x1, y2 - y1};
}

EdgeId infer_edge() {
  static const EdgeId edge = register_edge("infer");
  return edge;
}

}  // namespace

Infer::Infer(const Parameters& given, const Environment& environment)
    : owner_(given.owner()),
      on_(given.text("on")),
      decode_(given.text("decode")),
      name_(std::filesystem::path(given.text("model")).stem().string()),
      decode_parameters_(pairs_of(given, "decode_parameters", ' ')),
      requests_(static_cast<std::size_t>(given.integer("requests"))),
      max_objects_(static_cast<std::size_t>(given.integer("max_objects"))),
      confidence_(given.number("confidence")),
      iou_(given.number("iou")),
      min_size_px_(given.number("min_size")),
      top_k_(given.integer("top_k")),
      interval_(given.integer("interval")),
      max_delay_(milliseconds(given.number("max_delay_ms"))),
      timeout_(milliseconds(given.number("timeout_ms"))),
      is_direct_(given.integer("batch") == 1 && given.text("on") == "frame"),
      facts_(facts_of(given, false)),
      tiles_(tile_settings(given)),
      model_labels_(lines_of(given.text("labels_file"), given.owner())),
      object_labels_(split(given.text("labels"), ',')),
      settings_(settings_from(given)),
      files_(environment.files),
      ledger_(environment.ledger ? *environment.ledger : Ledger::process()) {
  check_model_file(settings_.model, owner_);
  if (decode_ != "auto" && decode_ != "none") {
    vision::DecodeOptions options;
    options.model_type = decode_;
    options.parameters = decode_parameters_;
    options.input_width = options.input_height = 1;  // The real size is known when the model is read.
    try {
      const vision::ResultReader known(options, name_);
    } catch (const Error& error) {
      throw Error(error.code(), owner_ + ": decode: " + error.what() + "; or auto, or none");
    }
  }
}

Infer::~Infer() {
  for (Slot* slot : running_) {
    try {
      slot->request.cancel();
    } catch (...) {  // The request's destructor waits for the inference.
    }
  }
}

const SharedModel& Infer::model(const std::optional<FrameInfo>& frames) const {
  const std::lock_guard lock(mutex_);
  if (!model_) {
    try {
      ModelSettings settings = settings_;
      if (settings.shape == kShapeOfFrames) {
        if (!frames)
          throw Error(Code::kFailedPrecondition,
                      "shape=frame, and the source does not say how large its frames are; give the size, as "
                      "shape=640x480");
        settings.shape = std::to_string(frames->upright_width_px()) + "x" + std::to_string(frames->upright_height_px());
      }
      model_ = share_model(settings, frames, files_.get());
    } catch (const Error& error) {
      throw Error(error.code(), owner_ + ": " + error.what());
    } catch (const std::exception& error) {
      throw Error(Code::kInvalidArgument, owner_ + ": " + error.what());
    }
  }
  return *model_;
}

bool Infer::waits_for_size(bool is_known) const {
  const std::lock_guard lock(mutex_);
  return !model_ && !is_known && settings_.shape == kShapeOfFrames;
}

Requirements Infer::wanted(const StreamInfo& in) const {
  const bool is_known = in.frame.width_px != 0 && in.frame.height_px != 0;
  if (waits_for_size(is_known)) return {};
  const SharedModel& known = model(is_known ? std::optional(in.frame) : std::nullopt);
  if (is_direct_) return known.compiled.requirements();
  Requirements host;
  host.host_access = true;
  return host;
}

Context Infer::used_in(const StreamInfo& in) const {
  if (!is_direct_) return {};
  const bool is_known = in.frame.width_px != 0 && in.frame.height_px != 0;
  if (waits_for_size(is_known)) return {};
  return model(is_known ? std::optional(in.frame) : std::nullopt).compiled.memory_context();
}

void Infer::make_slots() {
  const SharedModel& known = model(std::nullopt);
  if (known.keeps_state) {
    if (on_ == "tiles")
      throw Error(Code::kInvalidArgument, owner_ + ": \"" + settings_.model +
                                              "\" keeps state from frame to frame, which has no meaning between tiles "
                                              "of one frame: use on=frame");
    if (requests_ > 1 || interval_ > 1)
      throw Error(Code::kInvalidArgument, owner_ + ": \"" + settings_.model +
                                              "\" keeps state from frame to frame, and one request must see all of a "
                                              "stream: requests and interval must be 1");
    return;  // Each stream gets a request of its own in open().
  }
  std::size_t count = requests_;
  // One more than the device runs at once; otherwise the device would be idle while a result is read.
  if (count == 0) count = 1 + known.compiled.get_property(optimal_number_of_infer_requests);
  for (std::size_t i = 0; i < count; ++i) {
    slots_.push_back(std::make_unique<Slot>());
    slots_.back()->request = CompiledModel(model_->compiled).create_infer_request();
  }
}

StreamInfo Infer::open(std::uint32_t stream, const StreamInfo& in) {
  const bool is_known = in.frame.width_px != 0 && in.frame.height_px != 0;
  model(is_known ? std::optional(in.frame) : std::nullopt);
  for (const auto& frame : passing_) frame->is_dropped |= frame->item.stream == stream;
  Stream& state = streams_[stream];
  state = {};
  if (slots_.empty()) make_slots();
  if (model_->keeps_state) {
    std::erase_if(slots_, [&](const auto& slot) { return slot->stream == stream && !slot->is_busy; });
    slots_.push_back(std::make_unique<Slot>());
    slots_.back()->request = CompiledModel(model_->compiled).create_infer_request();
    slots_.back()->stream = stream;
  }
  if (is_known) adapt(state, in.frame);
  StreamInfo out = in;
  if (settings_.batch > 1) out.delay += max_delay_;
  return out;
}

void Infer::adapt(Stream& stream, const FrameInfo& info) {
  if (stream.reader && stream.info == info) return;
  vision::DecodeOptions options = vision::decode_options(*model_->single, info, facts_);
  if (!stream.reader) stream.remarks = ModelInfo(*model_->single, facts_).remarks();
  if (decode_ == "none") options.model_type.clear();
  if (confidence_ >= 0) options.confidence_threshold = static_cast<float>(confidence_);
  if (iou_ >= 0) options.iou_threshold = static_cast<float>(iou_);
  if (top_k_ > 0) options.top_k = static_cast<std::size_t>(top_k_);
  if (!model_labels_.empty()) options.labels = model_labels_;
  for (const auto& [parameter, value] : decode_parameters_) options.parameters[parameter] = value;
  std::vector<std::string> names;
  for (const auto& output : model_->compiled.outputs())
    names.push_back(output.get_names().empty() ? output.get_node()->get_friendly_name() : output.get_any_name());
  stream.reader.emplace(std::move(options), name_, std::move(names));
  stream.stage.reset();
  stream.tiles.clear();
  stream.idle = Frame();
  stream.info = info;
}

void Infer::process(Item item, Output& output) {
  const std::uint32_t number = item.stream;
  Stream& stream = streams_.at(number);
  rethrow_failure(number);
  adapt(stream, item.frame.info());
  passing_.push_back(std::make_unique<Passing>(Passing{std::move(item)}));
  Passing& frame = *passing_.back();
  ++frame.open;  // The frame is not done before all of its pictures have been started.
  for (std::string& remark : std::exchange(stream.remarks, {}))
    metadata::of(frame.item.frame).add(vision::ModelRemark{std::move(remark), name_});
  try {
    if (stream.frames++ % interval_ == 0) {
      if (on_ == "frame")
        add_frame(frame, stream, output);
      else if (on_ == "tiles")
        add_tiles(frame, stream, output);
      else
        add_objects(frame, stream, output);
    } else if (on_ != "objects") {
      metadata::of(frame.item.frame).add(metadata::NotLookedAt{name_});
    }
  } catch (...) {
    --frame.open;
    frame.is_dropped = true;
    throw;
  }
  --frame.open;
  while (!running_.empty() && finish_first(Clock::now())) {
  }
  // Frames without objects must not pile up behind a frame whose objects are in a request or in an incomplete batch.
  while (passing_.size() > 2 * slots_.size() * settings_.batch + 8 && (filling_ || !running_.empty())) {
    finish_one();
    emit_done(output);
  }
  emit_done(output);
  rethrow_failure(number);
}

void Infer::add_frame(Passing& frame, Stream& stream, Output& output) {
  if (!is_direct_) {
    if (!stream.stage) stream.stage.emplace(*model_->single, stream.info);
    PictureStage& stage = *stream.stage;
    return write_picture({&frame, metadata::kFrame, stage.geometry(), stage.frame_width(), stage.frame_height()},
                         on_host(frame.item.frame), stage, output);
  }
  const auto owner = model_->keeps_state ? std::optional(frame.item.stream) : std::nullopt;
  Slot& slot = free_slot(owner, output);
  {
    const TraceSpan span("set_frame", "infer");
    slot.request.set_frame(frame.item.frame);
  }
  slot.pictures.push_back({&frame, metadata::kFrame, {}, 0, 0});
  ++frame.open;
  start(slot);
}

void Infer::add_objects(Passing& frame, Stream& stream, Output& output) {
  const auto known = metadata::find(frame.item.frame);
  if (!known) return;
  const std::size_t width = stream.info.upright_width_px(), height = stream.info.upright_height_px();
  Frame host;
  std::size_t count = 0;
  for (const auto& object : known->all<metadata::Detection>()) {
    if (!object_labels_.empty() &&
        std::find(object_labels_.begin(), object_labels_.end(), object->label) == object_labels_.end())
      continue;
    const PixelRect part = pixels_of(object->box, width, height);
    if (part.width == 0 || static_cast<double>(std::min(part.width, part.height)) < min_size_px_) continue;
    if (max_objects_ != 0 && count == max_objects_) break;
    ++count;
    if (!host) host = on_host(frame.item.frame);
    PictureStage stage(*model_->single, stream.info, part);
    write_picture({&frame, object.id, stage.geometry(), width, height}, host, stage, output);
  }
}

Frame Infer::on_host(const Frame& frame) {
  MapOptions options;
  options.ledger = &ledger_;
  options.policy = settings_.zero_copy == "require" ? ZeroCopy::kRequire : ZeroCopy::kPrefer;
  return model_->core->router().map(frame, host_context(), options);
}

void Infer::write_picture(Picture picture, const Frame& host, PictureStage& stage, Output& output) {
  if (!filling_) {
    filling_ = &free_slot(std::nullopt, output);
    filling_since_ = Clock::now();
    if (!filling_->input) {
      filling_->input = filling_->request.get_input_tensor(0);
      if (!filling_->input.is_host_addressable()) {
        filling_->input = Tensor(filling_->input.element_type(), filling_->input.shape());
        filling_->request.set_input_tensor(0, filling_->input);
      }
    }
  }
  const TraceSpan span("picture", "infer");
  const std::size_t bytes = stage.target_bytes();
  stage.run(host, static_cast<std::byte*>(filling_->input.data()) + filling_->pictures.size() * bytes);
  ledger_.book_converted(infer_edge(), bytes);
  ++picture.frame->open;
  filling_->pictures.push_back(picture);
  if (filling_->pictures.size() == settings_.batch) start(*std::exchange(filling_, nullptr));
}

Infer::Slot& Infer::free_slot(std::optional<std::uint32_t> stream, Output& output) {
  for (;;) {
    for (const auto& slot : slots_) {
      if (!slot->is_busy && slot.get() != filling_ && slot->stream == stream) return *slot;
    }
    finish_one();
    emit_done(output);
  }
}

void Infer::give_outputs(Slot& slot) {
  const auto& ports = model_->compiled.outputs();
  if (output_pools_.empty()) {
    for (const auto& port : ports) {
      const PartialShape& shape = port.get_partial_shape();
      const bool is_static = shape.is_static();
      output_infos_.push_back({port.get_element_type(), is_static ? shape.to_shape() : Shape{}, {}});
      Requirements wanted = model_->compiled.requirements();
      wanted.size_bytes = is_static ? checked_size_bytes(port.get_element_type(), shape.to_shape()).value_or(0) : 0;
      output_pools_.emplace_back(wanted, kOutputs);
    }
  }
  for (std::size_t i = 0; i < ports.size(); ++i) {
    if (output_infos_[i].shape.empty()) continue;  // The shape is known after the inference.
    slot.request.set_output_tensor(
        i, in_steps(Clock::now() + timeout_, is_interrupted_, owner_ + ": a result's memory",
                    [&](Deadline step) { return output_pools_[i].acquire_tensor(output_infos_[i], step); }));
  }
}

void Infer::start(Slot& slot) {
  try {
    if (streams_.at(slot.pictures.front().frame->item.stream).reader->keeps_tensors()) give_outputs(slot);
    slot.request.start_async();
  } catch (...) {
    fail(slot.pictures, std::current_exception());
    slot.pictures.clear();
    return;
  }
  slot.is_busy = true;
  running_.push_back(&slot);
}

bool Infer::finish_first(Deadline deadline) {
  Slot& slot = *running_.front();
  try {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    if (!slot.request.wait_for(std::max(left, std::chrono::milliseconds(0)))) return false;
    slot.request.wait();
    collect(slot);
    release(slot);
    for (Picture& picture : slot.pictures) --picture.frame->open;
  } catch (...) {
    fail(slot.pictures, std::current_exception());
  }
  slot.pictures.clear();
  slot.is_busy = false;
  running_.pop_front();
  return true;
}

void Infer::finish_one() {
  if (running_.empty()) {  // Only an incomplete batch is left.
    if (!filling_) throw Error(Code::kInternal, owner_ + ": nothing is running");
    start(*std::exchange(filling_, nullptr));
    if (running_.empty()) return;
  }
  const TraceSpan span("wait", "infer");
  const Deadline until = Clock::now() + timeout_;
  while (!finish_first(std::min<Deadline>(until, Clock::now() + kPatience))) {
    if (is_interrupted_) throw Error(Code::kCancelled, owner_ + ": interrupted");
    if (Clock::now() >= until)
      throw Error(Code::kDeadlineExceeded,
                  owner_ + ": an inference has taken longer than timeout_ms=" +
                      std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(timeout_).count()));
  }
}

void Infer::collect(Slot& slot) {
  book(slot);
  slot.outputs.resize(model_->compiled.outputs().size());
  for (std::size_t i = 0; i < slot.outputs.size(); ++i) slot.outputs[i] = slot.request.get_output_tensor(i);
  std::vector<Tensor> parts;
  for (std::size_t k = 0; k < slot.pictures.size(); ++k) {
    const Picture& picture = slot.pictures[k];
    if (picture.frame->is_dropped) continue;
    Stream& stream = streams_.at(picture.frame->item.stream);
    if (!is_direct_) stream.reader->place(picture.geometry, picture.width, picture.height);
    std::span<const Tensor> of_picture = slot.outputs;
    if (settings_.batch > 1) {
      parts.clear();
      for (const Tensor& whole : slot.outputs) {
        Shape begin(whole.shape().size(), 0), end = whole.shape();
        begin[0] = k, end[0] = k + 1;
        parts.push_back(whole.slice(begin, end));
      }
      of_picture = parts;
    }
    metadata::Collection& known = metadata::of(picture.frame->item.frame);
    const bool notes = on_ == "tiles" && tiles_.joins;
    const std::size_t before = notes ? known.all<metadata::Detection>().size() : 0;
    stream.reader->read(of_picture, known, picture.parent);
    if (notes) note_objects(picture, before);
  }
}

/// Replaces the frame in a request that has finished. An idle request must not hold the frame's memory: an element that draws on
/// the frame would have to wait for the request.
void Infer::release(Slot& slot) {
  slot.outputs.clear();
  if (!is_direct_) return;
  const Frame& frame = slot.pictures.front().frame->item.frame;
  if (!frame.plane(0).is_host_addressable()) return;
  Stream& stream = streams_.at(slot.pictures.front().frame->item.stream);
  if (!stream.idle) {
    Requirements wanted = model_->compiled.requirements();
    wanted.host_access = true;
    wanted.size_bytes = Frame::size_bytes_for(stream.info, wanted);
    stream.idle = Frame::over(stream.info, cpu::context()->allocate(wanted), wanted);
  }
  if (stream.info == frame.info()) slot.request.set_frame(stream.idle);
}

void Infer::book(Slot& slot) {
  const LedgerEntry now = slot.request.ledger().total();
  const LedgerEntry& before = slot.booked;
  const EdgeId edge = infer_edge();
  if (now.copied != before.copied) ledger_.book_copied(edge, now.copied - before.copied);
  if (now.converted != before.converted) ledger_.book_converted(edge, now.converted - before.converted);
  if (now.transferred != before.transferred) ledger_.book_transferred(edge, now.transferred - before.transferred);
  if (now.waits != before.waits) ledger_.book_wait(edge, std::chrono::nanoseconds(now.wait_ns - before.wait_ns));
  slot.booked = now;
}

void Infer::fail(const std::vector<Picture>& pictures, const std::exception_ptr& error) {
  for (const Picture& picture : pictures) {
    Passing& frame = *picture.frame;
    --frame.open;
    if (!std::exchange(frame.is_dropped, true)) streams_.at(frame.item.stream).failure = error;
  }
}

void Infer::rethrow_failure(std::uint32_t stream) {
  const std::exception_ptr error = std::exchange(streams_.at(stream).failure, nullptr);
  if (!error) return;
  try {
    std::rethrow_exception(error);
  } catch (const Error& known) {
    throw Error(known.code(), owner_ + ": " + known.what());
  } catch (const std::exception& known) {
    throw Error(Code::kInternal, owner_ + ": " + known.what());
  }
}

void Infer::emit_done(Output& output) {
  while (!passing_.empty() && passing_.front()->open == 0) {
    const std::unique_ptr<Passing> done = std::move(passing_.front());
    passing_.pop_front();
    if (done->is_dropped) continue;
    if (!done->sliced.empty()) vision::join_slices(metadata::of(done->item.frame), done->sliced, tiles_.join);
    output.emit(std::move(done->item));
  }
}

std::optional<Deadline> Infer::due() const {
  std::optional<Deadline> at;
  if (filling_) at = filling_since_ + max_delay_;
  if (!running_.empty()) at = std::min(Clock::now(), at.value_or(Clock::time_point::max()));
  return at;
}

void Infer::proceed(Output& output) {
  Deadline until = Clock::now() + kStep;
  if (filling_) {
    const Deadline full = filling_since_ + max_delay_;
    if (Clock::now() >= full) {
      start(*std::exchange(filling_, nullptr));
      return emit_done(output);  // Frames may be waiting, and the batch has no results yet.
    }
    until = std::min(until, full);
  }
  if (!running_.empty()) finish_first(until);
  emit_done(output);
}

void Infer::end(std::uint32_t stream, Output& output) {
  const auto is_left = [&] {
    return std::any_of(passing_.begin(), passing_.end(),
                       [&](const auto& frame) { return frame->item.stream == stream; });
  };
  if (filling_ && is_left()) start(*std::exchange(filling_, nullptr));
  while (is_left()) {
    if (!running_.empty()) finish_one();
    emit_done(output);
  }
  // Sources come and go: pictures and requests of a stream do not stay.
  Stream& state = streams_.at(stream);
  state.idle = Frame();
  state.stage.reset();
  std::erase_if(slots_, [&](const auto& slot) { return slot->stream == stream && !slot->is_busy; });
  rethrow_failure(stream);
}

}  // namespace inference
}  // namespace elements
}  // namespace v1
}  // namespace tenon
