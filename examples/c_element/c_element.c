/* SPDX-License-Identifier: Apache-2.0 */
/* Elements written in C, in a pipeline: a source of grey pictures that grow brighter, a transform that passes pictures
 * that changed by a threshold, and a sink that prints the brightness of each picture. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tenon/bindings/c/tenon.h>

/* ---- A source: create reads its parameters, read makes a frame. ---- */

typedef struct {
  int64_t frames, next;
} ramp_t;

static tenon_status_t ramp_create(const tenon_parameters_t* parameters, const char* name, void* user,
                                  void** out_state) {
  ramp_t* ramp = calloc(1, sizeof *ramp);
  (void)name, (void)user;
  if (!ramp) return TENON_RESOURCE_EXHAUSTED;
  *out_state = ramp; /* Given to ramp_destroy, also when this fails later on. */
  return tenon_parameters_get_int64(parameters, "frames", &ramp->frames);
}

static void ramp_destroy(void* state) { free(state); }

static tenon_status_t ramp_open(void* state, int64_t timeout_ms, tenon_stream_info_t* info) {
  (void)timeout_ms;
  ((ramp_t*)state)->next = 0; /* Again after an error, if the pipeline says so. */
  info->fourcc = TENON_FORMAT_GRAY8;
  info->width_px = 64;
  info->height_px = 48;
  info->frames_per_second = 25;
  return TENON_OK;
}

static tenon_status_t ramp_read(void* state, int64_t timeout_ms, tenon_frame_t** out) {
  ramp_t* ramp = state;
  tenon_frame_info_t info = {.struct_size = sizeof info};
  tenon_tensor_t* plane = NULL;
  tenon_status_t status;
  void* data = NULL;
  (void)timeout_ms;
  if (ramp->next == ramp->frames) return TENON_OK; /* *out is NULL: the end. */
  info.fourcc = TENON_FORMAT_GRAY8;
  info.width_px = 64;
  info.height_px = 48;
  if ((status = tenon_frame_create(&info, out)) != TENON_OK) return status;
  if ((status = tenon_frame_plane(*out, 0, &plane)) == TENON_OK) status = tenon_tensor_data(plane, &data);
  if (status == TENON_OK) memset(data, (int)(ramp->next * 2), 64 * 48);
  tenon_tensor_free(plane);
  if (status != TENON_OK) {
    tenon_frame_free(*out);
    *out = NULL;
    return status;
  }
  return tenon_frame_set_timestamp(*out, ramp->next++ * 40000000);
}

static tenon_status_t brightness(const tenon_frame_t* frame, int* value) {
  tenon_tensor_t* plane = NULL;
  void* data = NULL;
  tenon_status_t status = tenon_frame_plane(frame, 0, &plane);
  if (status == TENON_OK) status = tenon_tensor_data(plane, &data);
  if (status == TENON_OK) *value = *(unsigned char*)data;
  tenon_tensor_free(plane);
  return status;
}

/* ---- A transform: fewer frames come out than go in. ---- */

typedef struct {
  int64_t threshold;
  int last;
} changed_t;

static tenon_status_t changed_create(const tenon_parameters_t* parameters, const char* name, void* user,
                                     void** out_state) {
  changed_t* changed = calloc(1, sizeof *changed);
  (void)name, (void)user;
  if (!changed) return TENON_RESOURCE_EXHAUSTED;
  *out_state = changed;
  changed->last = -1000;
  return tenon_parameters_get_int64(parameters, "threshold", &changed->threshold);
}

static tenon_status_t changed_process(void* state, uint32_t stream, const tenon_frame_t* frame,
                                      tenon_output_t* output) {
  changed_t* changed = state;
  int now = 0;
  tenon_status_t status = brightness(frame, &now);
  if (status != TENON_OK || abs(now - changed->last) < changed->threshold) return status;
  changed->last = now;
  return tenon_output_emit(output, stream, frame); /* The same memory goes on. */
}

/* ---- A sink. ---- */

static tenon_status_t print_process(void* state, uint32_t stream, tenon_frame_t* frame) {
  int now = 0;
  tenon_status_t status = brightness(frame, &now);
  (void)state;
  if (status != TENON_OK) return status;
  printf("stream %" PRIu32 " at %" PRId64 " ms: %d\n", stream, tenon_frame_timestamp(frame) / 1000000, now);
  if (now > 250) {
    tenon_set_last_error_message("too bright to be looked at"); /* Why; the status says what kind. */
    return TENON_OUT_OF_RANGE;
  }
  return TENON_OK;
}

/* ---- The program ---- */

static void check(tenon_status_t status) {
  if (status == TENON_OK) return;
  fprintf(stderr, "c_element: %s: %s\n", tenon_status_name(status), tenon_last_error_message());
  exit(1);
}

static void register_elements(void) {
  const double none = 0;
  const tenon_parameter_t frames = {"frames", "How many", TENON_PARAMETER_INT, "10", &none, NULL, NULL};
  const tenon_parameter_t threshold = {"threshold", "Steps of brightness", TENON_PARAMETER_INT, "5", &none, NULL, NULL};
  tenon_element_t ramp = {.struct_size = sizeof ramp}, changed = {.struct_size = sizeof changed},
                  print = {.struct_size = sizeof print};
  ramp.name = "ramp";
  ramp.about = "Grey pictures that grow brighter";
  ramp.role = TENON_ROLE_SOURCE;
  ramp.parameters = &frames;
  ramp.parameter_count = 1;
  ramp.create = ramp_create;
  ramp.destroy = ramp_destroy;
  ramp.source_open = ramp_open;
  ramp.read = ramp_read;
  check(tenon_element_register(&ramp));
  changed.name = "changed";
  changed.about = "Lets through what has changed";
  changed.role = TENON_ROLE_TRANSFORM;
  changed.parameters = &threshold;
  changed.parameter_count = 1;
  changed.create = changed_create;
  changed.destroy = ramp_destroy;
  changed.transform = changed_process;
  check(tenon_element_register(&changed));
  print.name = "print";
  print.about = "Prints the brightness";
  print.role = TENON_ROLE_SINK;
  print.process = print_process;
  check(tenon_element_register(&print));
}

int main(int argc, char** argv) {
  const char* json =
      argc > 1 ? argv[1]
               : "{\"nodes\": [{\"element\": \"ramp\"},"
                 " {\"element\": \"changed\", \"parameters\": {\"threshold\": 6}}, {\"element\": \"print\"}]}";
  tenon_pipeline_t* pipeline = NULL;
  tenon_failures_t* failures = NULL;
  tenon_node_stats_list_t* nodes = NULL;
  bool is_done = false;
  size_t i, failed;
  register_elements();
  check(tenon_pipeline_create(json, &pipeline));
  check(tenon_pipeline_start(pipeline));
  while (!is_done) check(tenon_pipeline_wait(pipeline, 1000, &is_done));
  check(tenon_pipeline_get_stats(pipeline, &nodes));
  for (i = 0; i < tenon_node_stats_list_count(nodes); ++i) {
    tenon_node_stats_t node = {.struct_size = sizeof node};
    check(tenon_node_stats_list_get(nodes, i, &node));
    printf("%s: %" PRIu64 " in, %" PRIu64 " out, %" PRIu64 " B copied\n", node.name, node.frames_in, node.frames_out,
           node.copied);
  }
  check(tenon_pipeline_get_failures(pipeline, &failures));
  failed = tenon_failures_count(failures);
  for (i = 0; i < failed; ++i) {
    tenon_failure_t failure = {.struct_size = sizeof failure};
    check(tenon_failures_get(failures, i, &failure));
    fprintf(stderr, "stream %" PRIu32 ", %s: %s\n", failure.stream, failure.node, failure.message);
  }
  tenon_failures_free(failures);
  tenon_node_stats_list_free(nodes);
  tenon_pipeline_free(pipeline);
  return failed != 0;
}
