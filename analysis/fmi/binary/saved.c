/* States of instances that are saved, restored and written down as bytes. */

#include "instance.h"

/* Memory as it was, its addresses counted from its start, so that any instance of this model may take it. */
typedef struct {
    uint64_t mark;
    char token[sizeof model.token];
    Place place;
    double end;
    unsigned char memory[];
} Saved;
#define SAVED_SIZE (sizeof(Saved) + model.image_size)

static Saved *saved(const void *state)
{
    Saved *given = (Saved *)state;
    return given && given->mark == MARK && !memcmp(given->token, model.token, sizeof model.token) ? given : NULL;
}

Status get_state(Instance *instance, const char *function, void **state)
{
    if (!may_call(instance, function, ALIVE | TERMINATED)) return ERROR;
    if (!state) return refuse(instance, function, "the place for the state is missing.");
    Saved *made = saved(*state);
    if (*state && !made) return refuse(instance, function, "the state is not one of this model.");
    if (!made) made = calloc(1, SAVED_SIZE);
    if (!made) return refuse(instance, function, "there is too little memory.");
    *made = (Saved){.mark = MARK, .place = instance->place, .end = instance->end};
    memcpy(made->token, model.token, sizeof model.token);
    memcpy(made->memory, instance->memory, model.image_size);
    move_addresses(made->memory, (uintptr_t)instance->memory, 0);
    for (size_t n = 0; n < model.num_functions; n++) {
        memcpy(made->memory + model_functions[n], model_image + model_functions[n], sizeof(uint64_t));
    }
    *state = made;
    return OK;
}

Status set_state(Instance *instance, const char *function, void *state)
{
    if (!may_call(instance, function, ALIVE | TERMINATED)) return ERROR;
    const Saved *given = saved(state);
    if (!given) return refuse(instance, function, "the state is not one of this model.");
    memcpy(instance->memory, given->memory, model.image_size);
    move_addresses(instance->memory, 0, (uintptr_t)instance->memory);
    place_functions(instance->memory);
    instance->place = given->place;
    instance->end = given->end;
    return OK;
}

Status free_state(Instance *instance, const char *function, void **state)
{
    if (!may_call(instance, function, ALIVE | TERMINATED)) return ERROR;
    if (!state || !*state) return OK;
    if (!saved(*state)) return refuse(instance, function, "the state is not one of this model.");
    saved(*state)->mark = 0;
    free(*state);
    *state = NULL;
    return OK;
}

Status serialized_size(Instance *instance, const char *function, void *state, size_t *size)
{
    if (!may_call(instance, function, ALIVE | TERMINATED)) return ERROR;
    if (!saved(state) || !size) return refuse(instance, function, "the state is not one of this model.");
    *size = SAVED_SIZE;
    return OK;
}

Status serialize(Instance *instance, const char *function, void *state, unsigned char bytes[], size_t size)
{
    if (!may_call(instance, function, ALIVE | TERMINATED)) return ERROR;
    if (!saved(state)) return refuse(instance, function, "the state is not one of this model.");
    if (!bytes || size < SAVED_SIZE) return refuse(instance, function, "%zu bytes are needed.", SAVED_SIZE);
    memcpy(bytes, state, SAVED_SIZE);
    return OK;
}

Status deserialize(Instance *instance, const char *function, const unsigned char bytes[], size_t size, void **state)
{
    if (!may_call(instance, function, ALIVE | TERMINATED)) return ERROR;
    if (!bytes || !state || size != SAVED_SIZE) return refuse(instance, function, "%zu bytes are needed.", SAVED_SIZE);
    Saved *made = malloc(SAVED_SIZE);
    if (!made) return refuse(instance, function, "there is too little memory.");
    memcpy(made, bytes, SAVED_SIZE);
    bool is_right = saved(made) != NULL;
    for (size_t n = 0; is_right && n < model.num_addresses; n++) {
        is_right = *(uint64_t *)(made->memory + model_addresses[n]) <= model.image_size;
    }
    if (!is_right) {
        free(made);
        return refuse(instance, function, "these bytes are no state of this model.");
    }
    *state = made;
    return OK;
}
