// SPDX-License-Identifier: Apache-2.0
// Pipelines with GStreamer's elements at both ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/fd.hpp>
#include <tenon/elements/testing/run.hpp>
#include <tenon/frameworks/gstreamer/gst.hpp>
#include <tenon/tests/support/temporary_folder.hpp>

namespace tenon::elements {
namespace gstreamer_test {

using namespace std::chrono_literals;
using tenon_test::Arrived;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kSmall = "video/x-raw,format=NV12,width=320,height=180,framerate=25/1";

NodeSpec source(const std::string& line) { return {"gst_source", "", {{"line", line}}}; }
NodeSpec sink(const std::string& line) { return {"gst_sink", "", {{"line", line}}}; }
std::string bars(int count) { return "videotestsrc num-buffers=" + std::to_string(count) + " ! " + kSmall; }

TEST(GstSource, GivesPicturesThatNobodyCopies) {
  Arrived arrived;
  Pipeline pipeline({{source(bars(12)), arrived.sink()}});
  EXPECT_THAT(tenon_test::run(pipeline), IsEmpty());
  ASSERT_EQ(arrived.frames[0].size(), 12u);
  EXPECT_EQ(arrived.frames[0][5].timestamp_ns, 200'000'000);
  EXPECT_EQ(arrived.frames[0][0].info.width_px, 320u);
  EXPECT_EQ(pipeline.stats()[0].moved.copied + pipeline.stats()[0].moved.converted, 0u);
}

TEST(GstSource, OffersMemoryThatAReaderWants) {
  Requirements wanted;
  wanted.fd = FdKind::kMemfd;
  wanted.pitch_alignment = 512;
  Arrived arrived;
  arrived.holds = true;
  EXPECT_THAT(tenon_test::run(PipelineSpec{{source(bars(4)), arrived.sink(wanted)}}), IsEmpty());
  ASSERT_EQ(arrived.held.size(), 4u);
  for (const Frame& frame : arrived.held) {
    EXPECT_TRUE(frame.plane(0).memory()->fd_kind().serves(FdKind::kMemfd));
    EXPECT_EQ(frame.plane(0).byte_strides()[0] % 512, 0);
  }
}

TEST(GstSource, KnowsHowPicturesLie) {
  for (const auto& [value, rotation] :
       {std::pair("rotate-90", Rotation::k90), std::pair("flip-rotate-0", Rotation::kMirrored)}) {
    Arrived arrived;
    EXPECT_THAT(tenon_test::run(
                    PipelineSpec{{source(bars(3) + " ! taginject tags=image-orientation=" + value), arrived.sink()}}),
                IsEmpty());
    ASSERT_EQ(arrived.frames[0].size(), 3u);
    for (const auto& frame : arrived.frames[0]) EXPECT_EQ(frame.info.rotation, rotation) << value;
  }
}

TEST(GstSource, SaysWhatIsWrongWithTheLine) {
  const auto failures = [](const std::string& line) { return tenon_test::run(PipelineSpec{{source(line), {"null"}}}); };
  EXPECT_THAT(failures("no_such_element ! fakesink"), ElementsAre(HasSubstr("no_such_element")));
  EXPECT_THAT(failures("filesrc location=/none.mp4 ! decodebin"), ElementsAre(HasSubstr("/none.mp4")));
  EXPECT_THAT(failures("videotestsrc num-buffers=0 ! " + std::string(kSmall)), ElementsAre(HasSubstr("first picture")));
}

TEST(GstSource, StopsSoonWhileItIsSilent) {
  PipelineSpec spec{{source("appsrc ! " + std::string(kSmall)), {"null"}}};
  spec.patience = 1s;
  Pipeline pipeline(spec);
  pipeline.start();
  ASSERT_TRUE(pipeline.wait(Clock::now() + 20s));
  ASSERT_EQ(pipeline.failures().size(), 1u);
  EXPECT_THAT(pipeline.failures()[0].message, HasSubstr("no picture in time"));
}

/// The time that stop(now) takes after the pipeline has run for a while.
Clock::duration stopping_time(Pipeline& pipeline) {
  pipeline.start();
  std::this_thread::sleep_for(500ms);
  EXPECT_FALSE(pipeline.wait(Clock::now())) << "it does not wait, so the test proves nothing";
  const auto begin = Clock::now();
  pipeline.stop(begin);
  return Clock::now() - begin;
}

TEST(GstSource, StopsAtOnceBeforeItsFirstPicture) {
  PipelineSpec spec{{source("appsrc ! " + std::string(kSmall)), {"null"}}};
  spec.patience = 100s;
  Pipeline pipeline(spec);
  EXPECT_LT(stopping_time(pipeline), 20s);
  EXPECT_TRUE(pipeline.failures().empty());
}

TEST(GstSink, StopsAtOnceWhenItsElementsTakeNothing) {
  NodeSpec test{"test", "", {{"width", "64"}, {"height", "32"}, {"fps", "0.01"}}};
  for (const NodeSpec& end :
       {sink("fakesink sync=true"), NodeSpec{"display", "", {{"sink", "fakesink"}, {"sync", "true"}}}}) {
    Pipeline pipeline({{test, end}});
    EXPECT_LT(stopping_time(pipeline), 20s) << end.element;
    EXPECT_TRUE(pipeline.failures().empty());
  }
}

TEST(GstSink, GivesAllPicturesToTheLine) {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "raw.yuv").string();
  NodeSpec test{"test", "", {{"frames", "7"}, {"width", "64"}, {"height", "32"}}};
  EXPECT_THAT(tenon_test::run(PipelineSpec{{test, sink("filesink location=" + file)}}), IsEmpty());
  EXPECT_EQ(std::filesystem::file_size(file), 7u * 64 * 32 * 3 / 2);
}

TEST(GstSink, TellsTheLineHowPicturesLie) {
  const TemporaryFolder folder;
  const auto pictures = [&](const std::string& tag, const std::string& direction) {
    const std::string file = (folder.path() / "raw").string();
    EXPECT_THAT(tenon_test::run(
                    PipelineSpec{{source(bars(3) + " ! taginject tags=image-orientation=" + tag),
                                  sink("videoflip video-direction=" + direction + " ! filesink location=" + file)}}),
                IsEmpty());
    std::ifstream in(file, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  const std::string upright = pictures("rotate-90", "auto");
  EXPECT_EQ(upright.size(), 3u * 320 * 180 * 3 / 2);
  EXPECT_TRUE(upright == pictures("rotate-0", "90r"));
  EXPECT_FALSE(upright == pictures("rotate-0", "auto"));
  // A window shows them upright.
  const std::string shown = (folder.path() / "shown").string();
  const NodeSpec window{
      "display", "", {{"sink", "videoconvert ! video/x-raw,format=NV12 ! filesink location=" + shown}}};
  EXPECT_THAT(
      tenon_test::run(PipelineSpec{{source(bars(3) + " ! taginject tags=image-orientation=rotate-90"), window}}),
      IsEmpty());
  std::ifstream in(shown, std::ios::binary);
  EXPECT_TRUE(upright == std::string(std::istreambuf_iterator<char>(in), {}));
}

TEST(GstFiles, NothingWritesOverWhatAPipelineReads) {
  const TemporaryFolder folder;
  const std::string here = folder.path().string() + "/", clip = here + "in put.avi";
  const NodeSpec test{"test", "", {{"frames", "7"}, {"width", "64"}, {"height", "32"}}};
  ASSERT_THAT(tenon_test::run(PipelineSpec{{test, sink("jpegenc ! avimux ! filesink location=\"" + clip + "\"")}}),
              IsEmpty());
  const auto content = [&](const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  const std::string before = content(clip);
  ASSERT_GT(before.size(), 1000u);
  for (const char* name : {"shot00.jpg", "shot01.jpg", "part00.mp4", "segment00.ts", "list.m3u8"})
    std::filesystem::copy_file(clip, here + name);
  std::filesystem::create_symlink(clip, here + "link");
  std::filesystem::create_hard_link(clip, here + "hard");
  std::ofstream(here + "all.m3u8") << "#EXTM3U\n#EXTINF:1,\nsegment00.ts\n";
  std::string uri = "file://" + here + "in%20put.avi";

  const std::string filesrc = "filesrc location=\"" + clip + "\" ! decodebin";
  const auto at = [&](const std::string& element, const std::string& name) {
    return element + "\"" + here + name + "\"";
  };
  const NodeSpec file{"file", "", {{"path", clip}}}, pictures{"file", "", {{"path", here + "*.jpg"}}};
  const NodeSpec write{"write", "", {{"path", clip}, {"codec", "mjpeg"}}};
  const std::pair<NodeSpec, NodeSpec> clashes[] = {
      {file, sink(at("filesink location=", "in put.avi"))},
      {file, sink(at("filesink location=", "link"))},
      {file, sink(at("filesink location=", "hard"))},
      {file, sink(at("videoconvert ! tee name=t ! queue ! fakesink t. ! queue ! filesink location=",
                     "../" + folder.path().filename().string() + "/in put.avi"))},
      {file, sink("giosink location=" + uri)},
      {file, {"display", "", {{"sink", at("filesink location=", "link")}}}},
      {pictures, sink(at("jpegenc ! multifilesink location=", "shot%02d.jpg"))},
      {source(at("multifilesrc location=", "shot%02d.jpg") + " caps=image/jpeg,framerate=1/1 ! jpegdec"),
       sink(at("filesink location=", "shot01.jpg"))},
      {{"file", "", {{"path", here + "part00.mp4"}}}, sink(at("identity ! splitmuxsink location=", "part%02d.mp4"))},
      {{"file", "", {{"path", here + "segment00.ts"}}},
       sink("mpegtsmux ! " + at("hlssink location=", "segment%02d.ts") + at(" playlist-location=", "n.m3u8"))},
      {{"file", "", {{"path", here + "list.m3u8"}}},
       sink("mpegtsmux ! " + at("hlssink location=", "new%02d.ts") + at(" playlist-location=", "list.m3u8"))},
      {source(filesrc), write},
      {source("uridecodebin uri=" + uri), write},
      {source(filesrc), sink(at("filesink location=", "hard"))},
      {source(filesrc + " ! tee name=t ! queue ! appsink t. ! queue ! " + at("filesink location=", "link")), {"null"}},
      {source("uridecodebin uri=file://" + here + "all.m3u8"), sink(at("filesink location=", "segment00.ts"))},
  };
  for (const auto& [from, to] : clashes) {
    const std::string where = from.element + " " + from.parameters.begin()->second + " to " + to.element + " " +
                              (to.parameters.empty() ? "" : to.parameters.rbegin()->second);
    try {
      Pipeline pipeline({{from, to}});
      ADD_FAILURE() << where << " is taken";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kInvalidArgument) << where;
      EXPECT_THAT(error.what(), HasSubstr("which is read: they are one file")) << where;
    }
  }
  for (const char* name : {"in put.avi", "shot01.jpg", "part00.mp4", "segment00.ts", "list.m3u8"})
    EXPECT_EQ(content(here + name), before) << name;
  EXPECT_THAT(tenon_test::run(PipelineSpec{{source(filesrc), sink(at("filesink location=", "other"))}}), IsEmpty());
  EXPECT_GT(content(here + "other").size(), 7u * 64 * 32);
}

/// A source with an array `uris`, as uriplaylistbin has one: a list of GLib's or an array of GStreamer's. GStreamer 1.22 parses no list of
/// GLib's in a line, so `texts` sets both here, with commas between them.
struct PlaylistElement {
  GstElement base;
  GValue uris;
};

template <bool kIsGlibList>
GType array_type() {
  return kIsGlibList ? G_TYPE_STRV : GST_TYPE_ARRAY;
}

template <bool kIsGlibList>
GType playlist_type() {
  static const GType made = [] {
    GTypeInfo info{};
    info.class_size = sizeof(GstElementClass), info.instance_size = sizeof(PlaylistElement);
    info.class_init = [](gpointer made_class, gpointer) {
      auto* object = G_OBJECT_CLASS(made_class);
      object->set_property = [](GObject* self, guint, const GValue* value, GParamSpec*) {
        auto& own = reinterpret_cast<PlaylistElement*>(self)->uris;
        if (G_VALUE_TYPE(&own) == 0) g_value_init(&own, array_type<kIsGlibList>());
        char** texts = g_strsplit(g_value_get_string(value), ",", 0);
        if (kIsGlibList) return g_value_take_boxed(&own, texts);
        for (char** text = texts; *text; ++text) {
          GValue one = G_VALUE_INIT;
          g_value_init(&one, G_TYPE_STRING);
          g_value_set_string(&one, *text);
          gst_value_array_append_and_take_value(&own, &one);
        }
        g_strfreev(texts);
      };
      object->get_property = [](GObject* self, guint, GValue* value, GParamSpec*) {
        g_value_copy(&reinterpret_cast<PlaylistElement*>(self)->uris, value);
      };
      object->finalize = [](GObject* self) {
        g_value_unset(&reinterpret_cast<PlaylistElement*>(self)->uris);
        G_OBJECT_CLASS(g_type_class_peek(GST_TYPE_ELEMENT))->finalize(self);
      };
      g_object_class_install_property(object, 1, g_param_spec_string("texts", "", "", "", G_PARAM_WRITABLE));
      GParamSpec* one = kIsGlibList ? nullptr : g_param_spec_string("uri", "", "", "", G_PARAM_READABLE);
      g_object_class_install_property(
          object, 2,
          kIsGlibList ? g_param_spec_boxed("uris", "", "", array_type<kIsGlibList>(), G_PARAM_READABLE)
                      : gst_param_spec_array("uris", "", "", one, G_PARAM_READABLE));
      GstCaps* any = gst_caps_new_any();
      gst_element_class_add_pad_template(GST_ELEMENT_CLASS(made_class),
                                         gst_pad_template_new("src", GST_PAD_SRC, GST_PAD_SOMETIMES, any));
      gst_caps_unref(any);
      gst_element_class_set_static_metadata(GST_ELEMENT_CLASS(made_class), "Playlist", "Source", "Files one by one",
                                            "Tenon");
    };
    return g_type_register_static(GST_TYPE_ELEMENT, kIsGlibList ? "TestGlibPlaylist" : "TestPlaylist", &info, {});
  }();
  return made;
}

TEST(GstFiles, ArraysOfUrisAreRead) {
  const TemporaryFolder folder;
  const std::string here = folder.path().string() + "/";
  for (const char* name : {"first", "second"}) std::ofstream(here + name) << name;
  tenon::gstreamer::start();
  ASSERT_TRUE(gst_element_register(nullptr, "glibplaylist", GST_RANK_NONE, playlist_type<true>()));
  ASSERT_TRUE(gst_element_register(nullptr, "gstplaylist", GST_RANK_NONE, playlist_type<false>()));
  for (const std::string element : {"glibplaylist", "gstplaylist"}) {
    const NodeSpec from =
        source(element + " texts=file://" + here + "first,file://" + here + "second ! decodebin ! videoconvert");
    for (const char* name : {"first", "second"}) {
      try {
        Pipeline pipeline({{from, sink("filesink location=" + here + name)}});
        ADD_FAILURE() << element << " with " << name << " is taken";
      } catch (const Error& error) {
        EXPECT_THAT(error.what(), HasSubstr("which is read: they are one file")) << element << ' ' << name;
      }
    }
    EXPECT_NO_THROW(Pipeline({{from, sink("filesink location=" + here + "third")}})) << element;
  }
}

TEST(GstFiles, EachStreamHasItsOwn) {
  const TemporaryFolder folder;
  const std::string here = folder.path().string() + "/";
  const auto spec = [&](const std::string& name) {
    PipelineSpec made;
    for (const char* source : {"a", "b"})
      made.nodes.push_back({"test", source, {{"frames", "3"}, {"width", "64"}, {"height", "32"}}});
    NodeSpec end = sink("filesink location=" + here + name);
    end.from = {"a", "b"};
    made.nodes.push_back(end);
    return made;
  };
  EXPECT_THROW(Pipeline{spec("one.yuv")}, Error);
  EXPECT_THAT(tenon_test::run(spec("own{stream}.yuv")), IsEmpty());
  for (const char* name : {"own0.yuv", "own1.yuv"})
    EXPECT_EQ(std::filesystem::file_size(here + name), 3u * 64 * 32 * 3 / 2);
}

TEST(GstSink, CopiesNothing) {
  Pipeline pipeline({{source(bars(20)), sink("fakesink")}});
  EXPECT_THAT(tenon_test::run(pipeline), IsEmpty());
  EXPECT_EQ(pipeline.stats()[1].moved.copied + pipeline.stats()[1].moved.converted, 0u);
}

TEST(GstSink, WhatItsElementsReportFailsTheStream) {
  NodeSpec test{"test", "", {{"frames", "7"}, {"width", "64"}, {"height", "32"}}};
  EXPECT_THAT(tenon_test::run(PipelineSpec{{test, sink("filesink location=/none/x")}}),
              ElementsAre(HasSubstr("/none/x")));
  EXPECT_THAT(tenon_test::run(PipelineSpec{{test, sink("no_such")}}), ElementsAre(HasSubstr("no_such")));
}

TEST(Display, ShowsOrSaysThatAScreenIsNeeded) {
  NodeSpec test{"test", "", {{"frames", "3"}, {"width", "64"}, {"height", "32"}}};
  EXPECT_THAT(tenon_test::run(PipelineSpec{{test, {"display", "", {{"sink", "fakesink"}}}}}), IsEmpty());
  EXPECT_THAT(tenon_test::run(PipelineSpec{{test, {"display", "", {{"sink", "no_such"}}}}}),
              ElementsAre(HasSubstr("a screen is needed")));
}

/// A screen without hardware: Debian's xvfb.
class Screen {
 public:
  Screen() {
    int ends[2];
    if (::pipe(ends) != 0) return;
    const UniqueFd from(ends[0]), to(ends[1]);
    std::string program = "Xvfb", option = "-displayfd", number = std::to_string(to.get()), screen = "-screen",
                first = "0", size = "320x240x24", stays = "-noreset";
    char* const arguments[] = {program.data(), option.data(), number.data(), screen.data(),
                               first.data(),   size.data(),   stays.data(),  nullptr};
    posix_spawn_file_actions_t quiet;
    posix_spawn_file_actions_init(&quiet);
    // Should this program end without its destructors, a reader of its output is not to wait for the screen.
    for (const int output : {1, 2}) posix_spawn_file_actions_addopen(&quiet, output, "/dev/null", O_WRONLY, 0);
    is_running_ = ::posix_spawnp(&process_, program.c_str(), &quiet, nullptr, arguments, environ) == 0;
    posix_spawn_file_actions_destroy(&quiet);
    char digit = 0;
    pollfd ready{from.get(), POLLIN, 0};
    while (is_running_ && ::poll(&ready, 1, 20'000) == 1 && ::read(from.get(), &digit, 1) == 1 && digit != '\n')
      name_ += digit;
  }
  ~Screen() {
    if (!is_running_) return;
    ::kill(process_, SIGTERM);
    ::waitpid(process_, nullptr, 0);
  }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;
  bool is_running() const { return is_running_; }
  std::string name() const { return ":" + name_; }

 private:
  pid_t process_ = 0;
  bool is_running_ = false;
  std::string name_;
};

/// Pixels of the screen that are as red as a bar of the source "test".
std::size_t red_pixels(const Screen& screen) {
  Arrived arrived;
  arrived.holds = true;
  const PipelineSpec look{{source("ximagesrc use-damage=false num-buffers=1 display-name=" + screen.name() +
                                  " ! videoconvert ! video/x-raw,format=RGB"),
                           arrived.sink()}};
  EXPECT_THAT(tenon_test::run(look), IsEmpty());
  if (arrived.held.empty()) return 0;
  const Tensor& pixels = arrived.held[0].plane(0);
  std::size_t red = 0;
  for (std::size_t y = 0; y < pixels.shape()[0]; ++y) {
    const auto* pixel =
        static_cast<const std::uint8_t*>(pixels.data()) + pixels.byte_strides()[0] * static_cast<std::ptrdiff_t>(y);
    for (std::size_t x = 0; x < pixels.shape()[1]; ++x, pixel += 3)
      red += pixel[0] > 140 && pixel[1] < 70 && pixel[2] < 70;
  }
  return red;
}

TEST(Display, IsSeenOnAScreen) {
  if (std::system("command -v Xvfb >/dev/null && gst-inspect-1.0 --exists ximagesink && "
                  "gst-inspect-1.0 --exists ximagesrc") != 0)
    GTEST_SKIP() << "no Xvfb, or no ximagesink (Debian: xvfb, gstreamer1.0-x, gstreamer1.0-plugins-good)";
  const Screen screen;
  ASSERT_TRUE(screen.is_running());
  EXPECT_EQ(red_pixels(screen), 0u);
  Pipeline pipeline({{{"test", "", {{"width", "160"}, {"height", "120"}, {"live", "true"}}},
                      {"display", "", {{"sink", "ximagesink display=" + screen.name()}}}}});
  pipeline.start();
  std::size_t red = 0;
  for (const auto end = Clock::now() + 20s; red == 0 && Clock::now() < end;) red = red_pixels(screen);
  pipeline.stop(Clock::now() + 5s);
  EXPECT_TRUE(pipeline.failures().empty());
  EXPECT_GT(red, 160u * 120 / 16) << "one of eight bars, of three quarters of the height";
}

}  // namespace gstreamer_test
}  // namespace tenon::elements
