// SPDX-License-Identifier: Apache-2.0
// clang-format off
#error "dlstreamer/gst/metadata/gva_audio_event_meta.h of DL Streamer is absent in Tenon's API: these metas are of the original's plugin, which registers their types. Leave this include and what it declares out; `tenon migrate PATH` says what else a project uses that is absent, and what to use instead"
