// SPDX-License-Identifier: Apache-2.0
// clang-format off
#error "dlstreamer/gst/allocator.h of DL Streamer is absent in Tenon's API: a pool and an allocator of Tenon's take its place. Leave this include and what it declares out; `tenon migrate PATH` says what else a project uses that is absent, and what to use instead"
