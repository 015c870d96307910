// SPDX-License-Identifier: Apache-2.0
// Elements made of callbacks, in pipelines: what they are told, what they send, and what becomes of their failures.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include <tenon/bindings/c/tenon.h>
#include <tenon/core/frame.hpp>
#include <tenon/core/metadata.hpp>
#include <tenon/elements/registry.hpp>
#include <tenon/tests/support/error_of.hpp>
#include <tenon/tests/support/temporary_folder.hpp>

namespace tenon::c_api_test {
namespace c_api_elements_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// What callbacks of one test share; `user` of all elements.
struct Scene {
  std::vector<std::int64_t> written;
  std::atomic<int> created{0}, destroyed{0}, ended{0}, finished{0}, interrupted{0};
  int next = 0, frames = 0, fail_at = -1;
  double fps = 0;
  bool stays_interrupted = false;
  std::string name, note, label;
  bool is_on = false;
  tenon_frame_t* held = nullptr;
};
Scene* scene = nullptr;

tenon_status_t create(const tenon_parameters_t* parameters, const char* name, void* user, void** out_state) {
  auto* const mine = static_cast<Scene*>(user);
  ++scene->created;
  scene->name = name;
  std::int64_t frames = 0;
  const char* note = nullptr;
  if (tenon_parameters_get_int64(parameters, "frames", &frames) == TENON_OK) scene->frames = static_cast<int>(frames);
  if (tenon_parameters_get_double(parameters, "fps", &scene->fps) != TENON_OK) scene->fps = -1;
  if (tenon_parameters_get_bool(parameters, "on", &scene->is_on) != TENON_OK) scene->is_on = false;
  if (tenon_parameters_get_text(parameters, "note", &note) == TENON_OK) scene->note = note;
  *out_state = mine;
  if (scene->note != "refuse") return TENON_OK;
  tenon_set_last_error_message("told to refuse");
  return TENON_UNAVAILABLE;
}
void destroy(void*) { ++scene->destroyed; }

tenon_status_t source_open(void*, std::int64_t timeout_ms, tenon_stream_info_t* info) {
  EXPECT_GT(timeout_ms, 0);
  info->fourcc = TENON_FORMAT_GRAY8;
  info->width_px = info->height_px = 16;
  info->frames_per_second = 25;
  return TENON_OK;
}
tenon_status_t source_read(void*, std::int64_t, tenon_frame_t** out) {
  if (scene->next == scene->fail_at) {
    tenon_set_last_error_message("a damaged file");
    return TENON_DATA_LOSS;
  }
  if (scene->next == scene->frames) return TENON_OK;
  tenon_frame_info_t info{};
  info.struct_size = sizeof info;
  info.fourcc = TENON_FORMAT_GRAY8;
  info.width_px = info.height_px = 16;
  if (const tenon_status_t status = tenon_frame_create(&info, out); status != TENON_OK) return status;
  return tenon_frame_set_timestamp(*out, scene->next++);
}

/// Holds a frame back until the next one is there.
tenon_status_t transform(void*, std::uint32_t stream, const tenon_frame_t* frame, tenon_output_t* output) {
  tenon_frame_t* const before = scene->held;
  const tenon_status_t status = tenon_frame_share(frame, &scene->held);
  if (before) {
    EXPECT_EQ(tenon_output_emit(output, stream, before), TENON_OK);
    tenon_frame_free(before);
  }
  return status;
}
tenon_status_t transform_end(void*, std::uint32_t stream, tenon_output_t* output) {
  ++scene->ended;
  const tenon_status_t status = scene->held ? tenon_output_emit(output, stream, scene->held) : TENON_OK;
  tenon_frame_free(scene->held);
  scene->held = nullptr;
  return status;
}

tenon_status_t mark(void*, std::uint32_t, tenon_frame_t* frame) {
  tenon_detection_t object{};
  object.struct_size = sizeof object;
  object.x2 = object.y2 = 4;
  object.label = "car";
  object.label_id = 2;
  object.score = 0.5f;
  object.track_id = -1;
  return tenon_frame_add_detection(frame, &object);
}

tenon_status_t write(void*, std::uint32_t, tenon_frame_t* frame) {
  scene->written.push_back(tenon_frame_timestamp(frame));
  tenon_detection_t object{};
  object.struct_size = sizeof object;
  if (tenon_frame_detection_count(frame) == 0) return TENON_OK;
  const tenon_status_t status = tenon_frame_get_detection(frame, 0, &object);
  scene->label = object.label;
  EXPECT_EQ(object.label_id, 2);
  EXPECT_EQ(object.x2, 4);
  EXPECT_EQ(tenon_frame_get_detection(frame, 1, &object), TENON_OUT_OF_RANGE);
  return status;
}
tenon_status_t sink_open(void*, std::uint32_t, const tenon_stream_info_t* in, tenon_stream_info_t*) {
  EXPECT_EQ(in->width_px, 16u);
  EXPECT_EQ(in->frames_per_second, 25);
  return TENON_OK;
}
tenon_status_t end(void*, std::uint32_t, tenon_output_t* output) {
  EXPECT_EQ(output, nullptr);
  ++scene->ended;
  return TENON_OK;
}
tenon_status_t finish(void*) {
  ++scene->finished;
  return TENON_OK;
}

/// A sink that waits for what it writes to, until it is interrupted.
tenon_status_t write_unless_interrupted(void*, std::uint32_t, tenon_frame_t* frame) {
  if (scene->interrupted > 0) return TENON_CANCELLED;
  scene->written.push_back(tenon_frame_timestamp(frame));
  return TENON_OK;
}
void interrupt(void*) { ++scene->interrupted; }
tenon_status_t resume(void*) {
  if (scene->stays_interrupted) {
    tenon_set_last_error_message("the broker is away");
    return TENON_UNAVAILABLE;
  }
  scene->interrupted = 0;
  return TENON_OK;
}

/// Notes what each tensor of the frame is, and its first value.
tenon_status_t look_at_tensors(void*, std::uint32_t, tenon_frame_t* frame) {
  tenon_tensor_output_t about{};
  about.struct_size = sizeof about;
  tenon_tensor_t* tensor = nullptr;
  const std::size_t count = tenon_frame_tensor_output_count(frame);
  for (std::size_t i = 0; i < count; ++i) {
    if (tenon_frame_get_tensor_output(frame, i, &about, &tensor) != TENON_OK) return TENON_INTERNAL;
    void* data = nullptr;
    EXPECT_EQ(tenon_tensor_data(tensor, &data), TENON_OK);
    scene->label += std::string(about.name) + " " + about.model + " " + about.format + " " +
                    std::to_string(about.detection) + " " + std::to_string(*static_cast<const float*>(data)) + "\n";
    tenon_tensor_free(tensor);
  }
  return tenon_frame_get_tensor_output(frame, count, &about, &tensor);
}

tenon_element_t element(const char* name, tenon_role_t role) {
  tenon_element_t made{};
  made.struct_size = sizeof made;
  made.name = name;
  made.about = "For a test";
  made.role = role;
  return made;
}

class CElements : public ::testing::Test {
 protected:
  void SetUp() override {
    scene = &scene_;
    static const bool once = [] {
      const double none = 0;
      const tenon_parameter_t parameters[] = {
          {"frames", "How many", TENON_PARAMETER_INT, "3", &none, nullptr, nullptr},
          {"fps", "Rate", TENON_PARAMETER_DOUBLE, "12.5", nullptr, nullptr, nullptr},
          {"on", "A flag", TENON_PARAMETER_BOOL, "true", nullptr, nullptr, nullptr},
          {"note", "A text", TENON_PARAMETER_TEXT, "hello", nullptr, nullptr, "hello,refuse"}};
      tenon_element_t source = element("c_source", TENON_ROLE_SOURCE);
      source.parameters = parameters;
      source.parameter_count = 4;
      source.create = &create;
      source.destroy = &destroy;
      source.source_open = &source_open;
      source.read = &source_read;
      EXPECT_EQ(tenon_element_register(&source), TENON_OK) << tenon_last_error_message();
      tenon_element_t delay = element("c_delay", TENON_ROLE_TRANSFORM);
      delay.transform = &transform;
      delay.end = &transform_end;
      EXPECT_EQ(tenon_element_register(&delay), TENON_OK);
      tenon_element_t marks = element("c_mark", TENON_ROLE_TRANSFORM_INPLACE);
      marks.process = &mark;
      EXPECT_EQ(tenon_element_register(&marks), TENON_OK);
      tenon_element_t sink = element("c_sink", TENON_ROLE_SINK);
      sink.process = &write;
      sink.open = &sink_open;
      sink.end = &end;
      sink.finish = &finish;
      EXPECT_EQ(tenon_element_register(&sink), TENON_OK);
      sink = element("c_tensor_sink", TENON_ROLE_SINK);
      sink.process = &look_at_tensors;
      EXPECT_EQ(tenon_element_register(&sink), TENON_OK);
      sink = element("c_resumed_sink", TENON_ROLE_SINK);
      sink.process = &write_unless_interrupted;
      sink.interrupt = &interrupt;
      sink.resume = &resume;
      EXPECT_EQ(tenon_element_register(&sink), TENON_OK);
      sink.name = "c_older_sink";  // A program that was compiled when the struct ended before it.
      sink.struct_size = offsetof(tenon_element_t, resume);
      EXPECT_EQ(tenon_element_register(&sink), TENON_OK);
      return true;
    }();
    static_cast<void>(once);
  }

  /// Runs it to its end. @return its failures, "node: message (status)" each.
  static std::vector<std::string> run(const std::string& nodes) {
    tenon_pipeline_t* pipeline = nullptr;
    EXPECT_EQ(tenon_pipeline_create(("{\"nodes\":[" + nodes + "]}").c_str(), &pipeline), TENON_OK)
        << tenon_last_error_message();
    EXPECT_EQ(tenon_pipeline_start(pipeline), TENON_OK);
    bool is_done = false;
    EXPECT_EQ(tenon_pipeline_wait(pipeline, 20'000, &is_done), TENON_OK);
    EXPECT_TRUE(is_done);
    tenon_failures_t* failures = nullptr;
    EXPECT_EQ(tenon_pipeline_get_failures(pipeline, &failures), TENON_OK);
    std::vector<std::string> all;
    for (std::size_t i = 0; i < tenon_failures_count(failures); ++i) {
      tenon_failure_t one{};
      one.struct_size = sizeof one;
      EXPECT_EQ(tenon_failures_get(failures, i, &one), TENON_OK);
      all.push_back(std::string(one.node) + ": " + one.message + " (" + tenon_status_name(one.status) + ")");
    }
    tenon_failures_free(failures);
    EXPECT_EQ(tenon_pipeline_start(pipeline), TENON_FAILED_PRECONDITION);
    tenon_pipeline_free(pipeline);
    return all;
  }

  Scene scene_;
};

TEST_F(CElements, RunInPipelines) {
  const auto failures =
      run(R"({"element":"c_source","name":"s","parameters":{"frames":4,"on":false}},{"element":"c_delay"},)"
          R"({"element":"c_mark"},{"element":"c_sink"})");
  EXPECT_TRUE(failures.empty());
  EXPECT_THAT(scene_.written, ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(scene_.label, "car");
  EXPECT_EQ(scene_.name, "s");
  EXPECT_EQ(scene_.note, "hello");
  EXPECT_EQ(scene_.fps, 12.5);
  EXPECT_FALSE(scene_.is_on);
  EXPECT_EQ(scene_.ended, 2);
  EXPECT_EQ(scene_.finished, 1);
  EXPECT_EQ(scene_.created, 1);
  EXPECT_EQ(scene_.destroyed, 1);
}

#ifdef TENON_TESTS_IPC
/// What the other process of the next test does: it serves marked frames at the socket that the environment names.
TEST_F(CElements, DISABLED_ServeMarkedFrames) {
  const char* const socket = std::getenv("TENON_TEST_SOCKET");
  ASSERT_TRUE(socket);
  EXPECT_THAT(
      run(R"({"element":"c_source","parameters":{"frames":5}},{"element":"c_mark"},{"element":"ipc_sink","parameters":{"subscribers":1,"patience_ms":60000,"socket":")" +
          std::string(socket) + "\"}}"),
      ElementsAre());
}

TEST_F(CElements, GetWhatAnotherProcessFound) {
  const TemporaryFolder folder;
  const std::string socket = folder.path() / "frames.sock", variable = "TENON_TEST_SOCKET=" + socket;
  std::vector<char*> environment;
  for (char** each = environ; *each; ++each) environment.push_back(*each);
  environment.push_back(const_cast<char*>(variable.c_str()));
  environment.push_back(nullptr);
  std::string program = "/proc/self/exe", filter = "--gtest_filter=CElements.DISABLED_ServeMarkedFrames",
              also = "--gtest_also_run_disabled_tests";
  char* arguments[] = {program.data(), filter.data(), also.data(), nullptr};
  pid_t serving = 0;
  ASSERT_EQ(::posix_spawn(&serving, program.c_str(), nullptr, nullptr, arguments, environment.data()), 0);
  // However long it takes to begin.
  for (const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
       ::access(socket.c_str(), F_OK) != 0 && std::chrono::steady_clock::now() < end;)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const auto failures = run(R"({"element":"ipc","parameters":{"socket":")" + socket + R"("}},{"element":"c_sink"})");
  EXPECT_THAT(failures, ElementsAre());
  if (!failures.empty()) ::kill(serving, SIGKILL);  // It would wait for its reader for ever.
  int status = -1;
  ASSERT_EQ(::waitpid(serving, &status, 0), serving);
  EXPECT_EQ(status, 0) << "the process that serves";
  EXPECT_THAT(scene_.written, ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(scene_.label, "car");
}
#endif

TEST_F(CElements, SayWhyTheyFail) {
  scene_.fail_at = 2;
  const auto failures = run(R"({"element":"c_source"},{"element":"c_sink"})");
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_EQ(failures[0], "c_source: element 'c_source': read: a damaged file (data loss)");
  EXPECT_THAT(scene_.written, ElementsAre(0, 1));
  tenon_pipeline_t* pipeline = nullptr;
  EXPECT_EQ(tenon_pipeline_create(
                R"({"nodes":[{"element":"c_source","parameters":{"note":"refuse"}},{"element":"null"}]})", &pipeline),
            TENON_UNAVAILABLE);
  EXPECT_THAT(tenon_last_error_message(), HasSubstr("told to refuse"));
  EXPECT_EQ(pipeline, nullptr);
}

/// What GStreamer's sinks do between READY and PLAYING.
TEST_F(CElements, SinksWriteAgainAfterAnInterruption) {
  Frame frame = Frame::allocate({kGray8, 16, 16});
  frame.set_timestamp_ns(7);
  const auto made = [](const char* name) {
    return std::get<std::unique_ptr<elements::Sink>>(elements::make_element(name, {}, {"out", nullptr}));
  };
  const auto sink = made("c_resumed_sink");
  sink->write(0, frame);
  sink->interrupt();
  EXPECT_EQ(error_of([&] { sink->write(0, frame); }).code(), Code::kCancelled);
  scene_.stays_interrupted = true;
  EXPECT_THAT(error_of([&] { sink->resume(); }, Code::kUnavailable), HasSubstr("resume: the broker is away"));
  scene_.stays_interrupted = false;
  sink->resume();
  sink->write(0, frame);
  EXPECT_THAT(scene_.written, ElementsAre(7, 7));
  const auto older = made("c_older_sink");
  older->interrupt();
  older->resume();
  EXPECT_EQ(error_of([&] { older->write(0, frame); }).code(), Code::kCancelled) << "it has no such callback";
}

TEST_F(CElements, ReadTheTensorsOfFrames) {
  Frame frame = Frame::allocate({kGray8, 16, 16});
  metadata::Collection& known = metadata::of(frame);
  known.add(metadata::Detection{});
  const metadata::Id object = known.add(metadata::Detection{});
  Tensor scores(ElementType::kF32, {1, 1}), look(ElementType::kF32, {1});
  *scores.data<float>() = 2.5f;
  *look.data<float>() = -1;
  known.add(metadata::TensorOutput{scores, "soft_prediction", "m", "class_scores"});
  known.add(metadata::TensorOutput{look, "", "m", "embedding"}, object);
  const auto sink =
      std::get<std::unique_ptr<elements::Sink>>(elements::make_element("c_tensor_sink", {}, {"out", nullptr}));
  EXPECT_EQ(error_of([&] { sink->write(0, frame); }).code(), Code::kOutOfRange) << "there is no third tensor";
  EXPECT_EQ(scene_.label, "soft_prediction m class_scores -1 2.500000\n m embedding 1 -1.000000\n");
}

TEST_F(CElements, AreCountedNodeByNode) {
  tenon_pipeline_t* pipeline = nullptr;
  ASSERT_EQ(tenon_pipeline_create(R"({"nodes":[{"element":"c_source"},{"element":"null"}]})", &pipeline), TENON_OK);
  tenon_pipeline_start(pipeline);
  bool is_done = false;
  tenon_pipeline_wait(pipeline, 20'000, &is_done);
  tenon_node_stats_list_t* list = nullptr;
  ASSERT_EQ(tenon_pipeline_get_stats(pipeline, &list), TENON_OK);
  ASSERT_EQ(tenon_node_stats_list_count(list), 2u);
  tenon_node_stats_t stats{};
  stats.struct_size = sizeof stats;
  ASSERT_EQ(tenon_node_stats_list_get(list, 1, &stats), TENON_OK);
  EXPECT_STREQ(stats.element, "null");
  EXPECT_EQ(stats.frames_in, 3u);
  EXPECT_EQ(stats.copied, 0u);
  EXPECT_EQ(tenon_node_stats_list_get(list, 2, &stats), TENON_OUT_OF_RANGE);
  tenon_node_stats_list_free(list);
  EXPECT_EQ(tenon_pipeline_stop(pipeline, 1000), TENON_OK);
  EXPECT_EQ(tenon_pipeline_wait(pipeline, -1, &is_done), TENON_INVALID_ARGUMENT);
  tenon_pipeline_free(pipeline);
}

TEST_F(CElements, SourcesComeAndGoWhileAPipelineRuns) {
  tenon_pipeline_t* pipeline = nullptr;
  ASSERT_EQ(
      tenon_pipeline_create(
          R"({"more_sources":1,"nodes":[{"element":"test","name":"camera","parameters":{"live":true}},{"element":"null"}]})",
          &pipeline),
      TENON_OK);
  const char* const second = R"({"element":"test","name":"second","parameters":{"live":true},"like":"camera"})";
  std::uint32_t stream = 9;
  EXPECT_EQ(tenon_pipeline_add_source(pipeline, second, &stream), TENON_FAILED_PRECONDITION) << "not started";
  EXPECT_EQ(stream, 0u);
  ASSERT_EQ(tenon_pipeline_start(pipeline), TENON_OK);
  EXPECT_EQ(tenon_pipeline_add_source(pipeline, second, &stream), TENON_OK) << tenon_last_error_message();
  EXPECT_EQ(stream, 1u);
  EXPECT_EQ(tenon_pipeline_add_source(pipeline, second, &stream), TENON_ALREADY_EXISTS);
  EXPECT_EQ(tenon_pipeline_add_source(pipeline, R"({"element":"test","name":"third"})", &stream),
            TENON_RESOURCE_EXHAUSTED);
  EXPECT_EQ(tenon_pipeline_add_source(pipeline, R"({"element":"test","like":3})", &stream), TENON_INVALID_ARGUMENT);
  EXPECT_THAT(tenon_last_error_message(), HasSubstr("/like"));
  bool is_done = false;
  EXPECT_EQ(tenon_pipeline_remove_source(pipeline, "second", 20'000, &is_done), TENON_OK);
  EXPECT_TRUE(is_done);
  EXPECT_EQ(tenon_pipeline_remove_source(pipeline, "second", 20'000, &is_done), TENON_NOT_FOUND);
  EXPECT_EQ(tenon_pipeline_stop(pipeline, 10'000), TENON_OK);
  tenon_pipeline_free(pipeline);
}

TEST_F(CElements, AreRefusedIfIncomplete) {
  tenon_element_t wrong = element("c_wrong", TENON_ROLE_SOURCE);
  EXPECT_EQ(tenon_element_register(&wrong), TENON_INVALID_ARGUMENT);
  EXPECT_THAT(tenon_last_error_message(), HasSubstr("element->source_open is NULL"));
  wrong.role = TENON_ROLE_SINK;
  EXPECT_EQ(tenon_element_register(&wrong), TENON_INVALID_ARGUMENT);
  wrong.role = 9;
  EXPECT_EQ(tenon_element_register(&wrong), TENON_INVALID_ARGUMENT);
  EXPECT_THAT(tenon_last_error_message(), HasSubstr("role 9"));
  tenon_element_t twice = element("c_mark", TENON_ROLE_TRANSFORM_INPLACE);
  twice.process = &mark;
  EXPECT_EQ(tenon_element_register(&twice), TENON_ALREADY_EXISTS);
  const tenon_parameter_t bad{"n", "", TENON_PARAMETER_INT, "many", nullptr, nullptr, nullptr};
  twice.name = "c_bad";
  twice.parameters = &bad;
  twice.parameter_count = 1;
  EXPECT_EQ(tenon_element_register(&twice), TENON_INVALID_ARGUMENT);
  EXPECT_THAT(tenon_last_error_message(), HasSubstr("an integer"));
  tenon_strings_t* names = nullptr;
  ASSERT_EQ(tenon_element_names(&names), TENON_OK);
  std::vector<std::string> all;
  for (std::size_t i = 0; i < tenon_strings_count(names); ++i) all.emplace_back(tenon_strings_get(names, i));
  tenon_strings_free(names);
  EXPECT_THAT(all, ::testing::IsSupersetOf({"c_source", "c_delay", "identity"}));
}

}  // namespace c_api_elements_test
}  // namespace tenon::c_api_test
