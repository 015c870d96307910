// SPDX-License-Identifier: Apache-2.0
// rtsp_server [--record] LAUNCH: serves what a launch line pays ("( ... ! rtph264pay name=pay0 )") as rtsp://127.0.0.1:PORT/clip, or gives to
// it what clients send there ("( rtph264depay name=depay0 ! ... )"), prints PORT, and ends when its standard input does, at the latest after two minutes.
#include <cstdio>
#include <cstring>

#include <gst/rtsp-server/rtsp-server.h>

int main(int argc, char** argv) {
  const bool records = argc == 3 && std::strcmp(argv[1], "--record") == 0;
  if (argc != 2 && !records) return 2;
  gst_init(nullptr, nullptr);
  GMainLoop* const loop = g_main_loop_new(nullptr, FALSE);
  GstRTSPServer* const server = gst_rtsp_server_new();
  gst_rtsp_server_set_address(server, "127.0.0.1");
  gst_rtsp_server_set_service(server, "0");  // Any port that is free.
  GstRTSPMountPoints* const mounts = gst_rtsp_server_get_mount_points(server);
  GstRTSPMediaFactory* const factory = gst_rtsp_media_factory_new();
  gst_rtsp_media_factory_set_launch(factory, argv[argc - 1]);
  if (records) gst_rtsp_media_factory_set_transport_mode(factory, GST_RTSP_TRANSPORT_MODE_RECORD);
  gst_rtsp_mount_points_add_factory(mounts, "/clip", factory);
  g_object_unref(mounts);
  if (gst_rtsp_server_attach(server, nullptr) == 0) return 1;
  std::printf("%d\n", gst_rtsp_server_get_bound_port(server));
  std::fflush(stdout);
  const auto quit = [](gpointer running) -> gboolean {
    g_main_loop_quit(static_cast<GMainLoop*>(running));
    return G_SOURCE_REMOVE;
  };
  const auto quit_at_end = [](GIOChannel*, GIOCondition, gpointer running) -> gboolean {
    g_main_loop_quit(static_cast<GMainLoop*>(running));
    return G_SOURCE_REMOVE;
  };
  GIOChannel* const input = g_io_channel_unix_new(0);
  g_io_add_watch(input, static_cast<GIOCondition>(G_IO_IN | G_IO_HUP), quit_at_end, loop);
  g_timeout_add_seconds(120, quit, loop);
  g_main_loop_run(loop);
  g_io_channel_unref(input);
  g_object_unref(server);
  g_main_loop_unref(loop);
  return 0;
}
