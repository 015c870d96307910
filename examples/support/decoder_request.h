/* SPDX-License-Identifier: Apache-2.0 */
/* Models that read a decoder's NV12 planes, for the examples in C. */
#ifndef TENON_EXAMPLES_SUPPORT_DECODER_REQUEST_H
#define TENON_EXAMPLES_SUPPORT_DECODER_REQUEST_H

#include <string.h>

#include "check.h"

/* The model of `text` with a decoder's planes as its inputs: "picture/y" and "picture/uv". */
static inline tenon_infer_request_t* request_for(tenon_core_t* core, const tenon_remote_context_t* context,
                                                 const char* text) {
  tenon_model_t *read = NULL, *model = NULL;
  tenon_preprocessor_t* steps = NULL;
  tenon_preprocess_input_t* input = NULL;
  static const char* const kNames[] = {"y", "uv"};
  check(tenon_core_read_model_from_memory(core, text, strlen(text), NULL, &read), "model");
  check(tenon_preprocessor_create(read, &steps), "preprocessor");
  check(tenon_preprocessor_input(steps, NULL, &input), "its input");
  check(tenon_preprocess_input_set_element_type(input, TENON_TYPE_U8), "bytes");
  check(tenon_preprocess_input_set_colour_format(input, TENON_COLOUR_NV12_TWO_PLANES, kNames, 2), "NV12");
  check(tenon_preprocess_input_set_memory_type(input, "GPU_SURFACE"), "surfaces");
  check(tenon_preprocess_input_convert_colour(input, TENON_COLOUR_BGR), "to BGR");
  check(tenon_preprocess_input_set_model_layout(input, "NCHW"), "the model's layout");
  check(tenon_preprocessor_build(steps, &model), "build");
  tenon_compiled_model_t* compiled = NULL;
  tenon_infer_request_t* request = NULL;
  check(tenon_core_compile_model_in_context(core, model, context, NULL, &compiled), "compile");
  check(tenon_compiled_model_create_infer_request(compiled, &request), "request");
  tenon_compiled_model_free(compiled);
  tenon_preprocess_input_free(input);
  tenon_preprocessor_free(steps);
  tenon_model_free(model);
  tenon_model_free(read);
  return request;
}

#endif
