// SPDX-License-Identifier: Apache-2.0
// Any bytes as elements and a pipeline of the C API: which nodes it has and with which texts as parameters, what the callbacks answer, which
// frames they make, change, keep and send, and in which order the pipeline is started, changed, asked and stopped. Each call returns a
// status, each element that was made is ended once, and no call goes on behind its deadline.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include <tenon/bindings/c/tenon.h>

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kHangs{30};

void expect(bool holds) {
  if (!holds) std::abort();
}

/// The input, which the threads of a pipeline share; zeros past its end.
class Bytes {
 public:
  void begin(const std::uint8_t* data, std::size_t size) {
    const std::lock_guard lock(mutex_);
    at_ = data, left_ = size;
  }
  bool is_empty() {
    const std::lock_guard lock(mutex_);
    return left_ == 0;
  }
  std::uint8_t byte() {
    const std::lock_guard lock(mutex_);
    if (left_ == 0) return 0;
    --left_;
    return *at_++;
  }
  std::string text() {
    std::string made(byte() % 16, ' ');
    for (char& letter : made) letter = static_cast<char>(byte());
    return made;
  }

 private:
  std::mutex mutex_;
  const std::uint8_t* at_ = nullptr;
  std::size_t left_ = 0;
};
Bytes bytes;
std::atomic<int> alive{0};
std::atomic<int> read_frames{0};
constexpr int kMostFrames =
    24;  ///< What all sources of one input give: a pipeline whose sources do not end takes no longer.

/// A node's own state: a frame that it keeps from one call to the next.
struct Node {
  tenon_frame_t* kept = nullptr;
};

/// Mostly TENON_OK.
tenon_status_t answer() {
  constexpr tenon_status_t kSome[] = {TENON_UNAVAILABLE,       TENON_DATA_LOSS, TENON_CANCELLED,
                                      TENON_DEADLINE_EXCEEDED, TENON_INTERNAL,  TENON_INVALID_ARGUMENT};
  const std::uint8_t kind = bytes.byte();
  if (kind < 232) return TENON_OK;
  if (kind % 2) tenon_set_last_error_message(bytes.text().c_str());
  return kind == 255 ? static_cast<tenon_status_t>(bytes.byte()) : kSome[kind % std::size(kSome)];
}

tenon_frame_info_t any_info() {
  constexpr std::uint32_t kFormats[] = {TENON_FORMAT_NV12, TENON_FORMAT_I420, TENON_FORMAT_RGB24, TENON_FORMAT_GRAY8,
                                        TENON_FORMAT_P010};
  tenon_frame_info_t info{};
  info.struct_size = sizeof info;
  const std::uint8_t kind = bytes.byte();
  info.fourcc = kind < 250 ? kFormats[kind % std::size(kFormats)] : kind * 16'843'009u;
  info.width_px = kind % 8 ? 32 : bytes.byte();
  info.height_px = kind % 8 ? 24 : bytes.byte();
  info.colour_space = static_cast<tenon_colour_space_t>(kind / 8 % 6);
  info.colour_range = static_cast<tenon_colour_range_t>(kind / 8 % 4);
  return info;
}

tenon_frame_t* any_frame() {
  const tenon_frame_info_t info = any_info();
  tenon_frame_t* made = nullptr;
  const tenon_status_t status = tenon_frame_create(&info, &made);
  expect((status == TENON_OK) == (made != nullptr));
  return made;
}

void any_detection(tenon_frame_t* frame) {
  tenon_detection_t object{};
  object.struct_size = sizeof object;
  object.x1 = static_cast<float>(bytes.byte()) - 16;
  object.x2 = static_cast<float>(bytes.byte());
  object.y2 = static_cast<float>(bytes.byte());
  object.score = static_cast<float>(bytes.byte()) / 128;
  object.label_id = static_cast<std::int32_t>(bytes.byte()) - 1;
  object.track_id = static_cast<std::int64_t>(bytes.byte()) - 1;
  const std::string label = bytes.text();
  object.label = bytes.byte() % 4 ? label.c_str() : nullptr;
  tenon_frame_add_detection(frame, &object);
  tenon_frame_get_detection(frame, bytes.byte() % 4, &object);
}

tenon_status_t create(const tenon_parameters_t* parameters, const char*, void*, void** out_state) {
  std::int64_t number = 0;
  double real = 0;
  bool is_on = false;
  const char* text = nullptr;
  const std::string wrong = bytes.text();
  for (const char* name : {"number", "real", "on", "text", wrong.c_str()}) {
    tenon_parameters_get_int64(parameters, name, &number);
    tenon_parameters_get_double(parameters, name, &real);
    tenon_parameters_get_bool(parameters, name, &is_on);
    if (tenon_parameters_get_text(parameters, name, &text) == TENON_OK) expect(text != nullptr);
  }
  const tenon_status_t status = answer();
  if (status != TENON_OK) return status;
  *out_state = new Node;
  ++alive;
  return TENON_OK;
}
void destroy(void* state) {
  auto* const node = static_cast<Node*>(state);
  tenon_frame_free(node->kept);
  delete node;
  --alive;
}
void describe(tenon_stream_info_t* info) {
  const tenon_frame_info_t any = any_info();
  info->fourcc = any.fourcc;
  info->width_px = any.width_px;
  info->height_px = any.height_px;
  info->colour_space = any.colour_space;
  info->colour_range = any.colour_range;
  const std::uint8_t kind = bytes.byte();
  info->frames_per_second = kind < 250 ? kind : -1.0 / (kind - 250);
  info->is_live = kind % 4 == 1;
  info->rotation = static_cast<tenon_rotation_t>(kind % 16 == 2 ? bytes.byte() : 0);
  info->delay_ns = kind % 16 == 3 ? static_cast<std::int64_t>(bytes.byte()) << 56 : 0;
}
tenon_status_t source_open(void*, std::int64_t, tenon_stream_info_t* info) {
  describe(info);
  return answer();
}
tenon_status_t source_read(void* state, std::int64_t, tenon_frame_t** out) {
  auto* const node = static_cast<Node*>(state);
  const std::uint8_t kind = bytes.byte();
  if (kind == 0 || ++read_frames > kMostFrames) return TENON_OK;
  const tenon_status_t status = answer();
  if (status != TENON_OK) return status;
  if (kind < 32 && node->kept) return tenon_frame_share(node->kept, out);
  *out = any_frame();
  if (!*out) return TENON_INTERNAL;
  tenon_frame_set_timestamp(
      *out, kind < 200 ? read_frames.load() * std::int64_t{40'000'000} : static_cast<std::int64_t>(kind) << 55);
  if (kind % 3 == 0) any_detection(*out);
  return TENON_OK;
}
tenon_status_t open(void*, std::uint32_t, const tenon_stream_info_t*, tenon_stream_info_t* out) {
  if (bytes.byte() % 4 == 3) describe(out);
  return answer();
}
tenon_status_t process(void*, std::uint32_t, tenon_frame_t* frame) {
  if (bytes.byte() % 2) any_detection(frame);
  return answer();
}
tenon_status_t transform(void* state, std::uint32_t stream, const tenon_frame_t* frame, tenon_output_t* output) {
  auto* const node = static_cast<Node*>(state);
  const std::uint8_t kind = bytes.byte();
  for (unsigned left = kind % 3; left > 0; --left)
    tenon_output_emit(output, kind > 250 ? stream + kind : stream, frame);
  if (kind % 5 == 0) {
    if (node->kept) tenon_output_emit(output, stream, node->kept);
    tenon_frame_free(node->kept);
    node->kept = nullptr;
    tenon_frame_share(frame, &node->kept);
  }
  if (kind % 7 == 0) {
    tenon_frame_t* const other = any_frame();
    tenon_output_emit(output, stream, other);
    tenon_frame_free(other);
  }
  return answer();
}
/// Never where the input is over: 0 would be told again and again.
std::int64_t due(void*) { return bytes.is_empty() ? -1 : static_cast<std::int8_t>(bytes.byte()); }
tenon_status_t proceed(void*, tenon_output_t* output) {
  if (bytes.byte() % 4 == 0) tenon_output_emit(output, bytes.byte() % 4, nullptr);
  return answer();
}
tenon_status_t end(void* state, std::uint32_t stream, tenon_output_t* output) {
  auto* const node = static_cast<Node*>(state);
  if (output && node->kept) tenon_output_emit(output, stream, node->kept);
  return answer();
}
tenon_status_t finish(void*) { return answer(); }
void interrupt(void*) {}

constexpr const char* kOwn[] = {"fuzz_source", "fuzz_transform", "fuzz_in_place", "fuzz_sink"};

/// The four elements, once; and one whose description is any.
void register_all() {
  static const double least = -4, most = 9;
  static const tenon_parameter_t parameters[] = {
      {"number", "a number", TENON_PARAMETER_INT, "3", &least, &most, nullptr},
      {"real", "a number", TENON_PARAMETER_DOUBLE, "0.5", nullptr, &most, nullptr},
      {"on", "a switch", TENON_PARAMETER_BOOL, "true", nullptr, nullptr, nullptr},
      {"text", "a text", TENON_PARAMETER_TEXT, "a", nullptr, nullptr, nullptr},
      {"choice", "one of some", TENON_PARAMETER_TEXT, "b", nullptr, nullptr, "a,b,c"},
  };
  for (int role = 0; role < 4; ++role) {
    tenon_element_t element{};
    element.struct_size = sizeof element;
    element.name = kOwn[role];
    element.about = "For the fuzzer";
    element.role = static_cast<tenon_role_t>(role);
    element.is_shared = role == TENON_ROLE_TRANSFORM;
    element.parameters = parameters;
    element.parameter_count = std::size(parameters);
    element.create = &create;
    element.destroy = &destroy;
    element.interrupt = &interrupt;
    if (role == TENON_ROLE_SOURCE) {
      element.source_open = &source_open;
      element.read = &source_read;
    } else {
      element.open = &open;
      element.end = &end;
    }
    if (role == TENON_ROLE_TRANSFORM) {
      element.transform = &transform;
      element.due = &due;
      element.proceed = &proceed;
    }
    if (role == TENON_ROLE_TRANSFORM_INPLACE || role == TENON_ROLE_SINK) element.process = &process;
    if (role == TENON_ROLE_SINK) element.finish = &finish;
    expect(tenon_element_register(&element) == TENON_OK);
  }
}

std::string quoted(const std::string& text) {
  std::string made = "\"";
  for (const char letter : text) {
    char code[8];
    std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned char>(letter));
    made += code;
  }
  return made + "\"";
}

/// A node. Elements of Tenon are only those that neither read nor write files.
std::string any_node(unsigned number, bool is_source) {
  constexpr const char* kBasic[] = {"test", "identity", "null", "throttle", "aggregate"};
  constexpr const char* kNames[] = {"number", "real",  "on",     "text", "choice",
                                    "frames", "width", "height", "fps",  "live"};
  const std::uint8_t kind = bytes.byte();
  const std::string element = is_source  ? (kind % 4 ? kOwn[0] : kBasic[0])
                              : kind % 2 ? kOwn[kind / 2 % 4]
                                         : kBasic[kind / 2 % 5];
  std::string text = "{\"element\": \"" + element + "\", \"name\": \"n" + std::to_string(number) + "\"";
  std::string parameters;
  if (element == "test") parameters = "\"frames\": 3, \"width\": 32, \"height\": 24";
  for (unsigned left = kind % 16 == 5 ? bytes.byte() % 3 : 0; left > 0; --left) {
    const std::string value =
        bytes.byte() % 2 ? std::to_string(static_cast<std::int8_t>(bytes.byte())) : quoted(bytes.text());
    parameters += (parameters.empty() ? "" : ", ") +
                  quoted(bytes.byte() % 8 ? kNames[bytes.byte() % std::size(kNames)] : bytes.text()) + ": " + value;
  }
  if (!parameters.empty()) text += ", \"parameters\": {" + parameters + "}";
  if (!is_source && kind % 8 == 3)
    text +=
        ", \"from\": [\"n" + std::to_string(bytes.byte() % 4) + "\", \"n" + std::to_string(bytes.byte() % 4) + "\"]";
  if (!is_source && kind % 8 == 1)
    text += R"(, "queue": {"size": )" + std::to_string(bytes.byte()) + R"(, "when_full": "drop_oldest"})";
  return text + "}";
}

std::string any_pipeline() {
  constexpr const char* kOnError[] = {"stop", "end", "restart"};
  const std::uint8_t kind = bytes.byte();
  std::string nodes = any_node(0, true);
  const unsigned count = 1 + kind % 4;
  for (unsigned i = 1; i < count; ++i) nodes += ", " + any_node(i, kind & 64 && i == 1);
  if (kind & 128) nodes += R"(, {"element": "fuzz_sink", "name": "last"})";
  return std::string("{\"on_error\": \"") + kOnError[kind % 3] + "\", \"restarts\": " + std::to_string(kind / 16 % 3) +
         ", \"restart_delay_ms\": 1, \"patience_ms\": 2000" + (kind & 32 ? ", \"more_sources\": 2" : "") +
         ", \"nodes\": [" + nodes + "]}";
}

void look_at(const tenon_pipeline_t* pipeline) {
  tenon_node_stats_list_t* stats = nullptr;
  if (tenon_pipeline_get_stats(pipeline, &stats) == TENON_OK) {
    tenon_node_stats_t one{};
    one.struct_size = sizeof one;
    for (std::size_t i = 0; i <= tenon_node_stats_list_count(stats); ++i)
      expect((tenon_node_stats_list_get(stats, i, &one) == TENON_OK) == (i < tenon_node_stats_list_count(stats)));
    tenon_node_stats_list_free(stats);
  }
  tenon_failures_t* failures = nullptr;
  if (tenon_pipeline_get_failures(pipeline, &failures) == TENON_OK) {
    tenon_failure_t one{};
    one.struct_size = sizeof one;
    for (std::size_t i = 0; i <= tenon_failures_count(failures); ++i) tenon_failures_get(failures, i, &one);
    tenon_failures_free(failures);
  }
}

void use(tenon_pipeline_t* pipeline) {
  bool is_done = false;
  std::uint32_t stream = 0;
  for (int calls = 0; calls < 12 && !bytes.is_empty(); ++calls) {
    const std::uint8_t kind = bytes.byte();
    switch (kind % 8) {
      case 0:
      case 1:
        tenon_pipeline_start(pipeline);
        break;
      case 2:
        tenon_pipeline_wait(pipeline, kind / 8, &is_done);
        break;
      case 3:
        look_at(pipeline);
        break;
      case 4:
        tenon_pipeline_add_source(pipeline, any_node(10 + kind / 8 % 4, true).c_str(), &stream);
        break;
      case 5:
        tenon_pipeline_remove_source(pipeline, ("n" + std::to_string(kind / 8 % 16)).c_str(), kind / 64, &is_done);
        break;
      case 6:
        tenon_pipeline_wait(pipeline, 20 + kind, &is_done);
        break;
      default:
        if (kind > 200) tenon_pipeline_stop(pipeline, kind % 32);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  ::setenv("TENON_ELEMENT_PATH", "/nonexistent", 1);  // No modules: their elements open files.
  register_all();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Clock::time_point begin = Clock::now();
  bytes.begin(data, size);
  read_frames = 0;
  tenon_pipeline_t* pipeline = nullptr;
  const std::string text = any_pipeline();
  const tenon_status_t status = tenon_pipeline_create(text.c_str(), &pipeline);
  expect((status == TENON_OK) == (pipeline != nullptr));
  expect(tenon_last_error_message() != nullptr);
  if (pipeline) {
    use(pipeline);
    look_at(pipeline);
  }
  tenon_pipeline_free(pipeline);
  expect(alive == 0);
  expect(Clock::now() - begin < kHangs);
  return 0;
}
