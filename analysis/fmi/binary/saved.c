/* States of instances that are saved, restored and written down as bytes. */

#include "instance.h"

/* Memory as it was, its addresses counted from its start, so that any instance of this model may take it. */
typedef struct {
    uint64_t mark;
    char token[sizeof model.token];
    Place place;
    double end;
    size_t size;      /* of all this */
    int64_t places[]; /* of the capacities; behind them is the memory */
} Saved;

static size_t saved_size(const int64_t places[])
{
    return sizeof(Saved) + model.num_capacities * sizeof(int64_t) + memory_size(places);
}

static unsigned char *memory_of(Saved *state) { return (unsigned char *)(state->places + model.num_capacities); }

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
    size_t size = saved_size(instance->places);
    if (!made || made->size != size) {
        Saved *larger = realloc(made, size);
        if (!larger) return refuse(instance, function, "there is too little memory.");
        made = larger;
    }
    *made = (Saved){.mark = MARK, .place = instance->place, .end = instance->end, .size = size};
    memcpy(made->token, model.token, sizeof model.token);
    memcpy(made->places, instance->places, model.num_capacities * sizeof(int64_t));
    memcpy(memory_of(made), instance->memory, memory_size(instance->places));
    move_addresses(memory_of(made), (uintptr_t)instance->memory, 0);
    for (size_t n = 0; n < model.num_functions; n++) {
        memcpy(memory_of(made) + model_functions[n], model_image + model_functions[n], sizeof(uint64_t));
    }
    *state = made;
    return OK;
}

Status set_state(Instance *instance, const char *function, void *state)
{
    if (!may_call(instance, function, ALIVE | TERMINATED)) return ERROR;
    Saved *given = saved(state);
    if (!given) return refuse(instance, function, "the state is not one of this model.");
    if (!take_memory(instance, memory_of(given), given->places)) {
        return refuse(instance, function, "there is too little memory.");
    }
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
    *size = saved(state)->size;
    return OK;
}

Status serialize(Instance *instance, const char *function, void *state, unsigned char bytes[], size_t size)
{
    if (!may_call(instance, function, ALIVE | TERMINATED)) return ERROR;
    if (!saved(state)) return refuse(instance, function, "the state is not one of this model.");
    size_t needed = saved(state)->size;
    if (!bytes || size < needed) return refuse(instance, function, "%zu bytes are needed.", needed);
    memcpy(bytes, state, needed);
    return OK;
}

Status deserialize(Instance *instance, const char *function, const unsigned char bytes[], size_t size, void **state)
{
    if (!may_call(instance, function, ALIVE | TERMINATED)) return ERROR;
    size_t least = saved_size(model_places);
    if (!bytes || !state || size < least) return refuse(instance, function, "at least %zu bytes are needed.", least);
    Saved *made = malloc(size);
    if (!made) return refuse(instance, function, "there is too little memory.");
    memcpy(made, bytes, size);
    bool is_right = saved(made) && are_places_right(made->places) && saved_size(made->places) == size;
    int32_t mode = is_right ? made->place.mode : 0;
    is_right = is_right && made->size == size && mode > 0 && mode <= TERMINATED && !(mode & (mode - 1));
    for (size_t n = 0; is_right && n < model.num_addresses; n++) {
        is_right = *(uint64_t *)(memory_of(made) + model_addresses[n]) <= memory_size(made->places);
    }
    if (!is_right) {
        free(made);
        return refuse(instance, function, "these bytes are no state of this model.");
    }
    *state = made;
    return OK;
}
