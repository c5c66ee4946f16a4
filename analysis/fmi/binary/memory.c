/* The memory of an instance: a copy of the model's image, and behind it the arrays that have grown.
 *
 * The length of an array follows from the capacities (capacities.py). One that has grown is behind the image. */

#include "instance.h"

#define MOST_PLACES ((int64_t)1 << 31) /* of a capacity */

typedef struct {
    size_t start, size; /* in memory */
    int64_t length;     /* along the axis that grows */
} Span;

/* Where an array is with these capacities; those before it that have grown end at `end`, which is moved behind it. */
static Span span_of(size_t number, const int64_t places[], size_t *end)
{
    const Array *array = &model_arrays[number];
    int64_t length = array->length;
    for (size_t k = 0; k < model.num_capacities; k++) {
        length += model_growths[number * model.num_capacities + k] * (places[k] - model_places[k]);
    }
    Span span = {array->place, (size_t)length * array->item_size, length};
    if (length > array->length) {
        span.start = *end;
        *end += (span.size + 63) / 64 * 64;
    }
    return span;
}

size_t memory_size(const int64_t places[])
{
    size_t end = model.image_size;
    for (size_t n = 0; n < model.num_arrays; n++) span_of(n, places, &end);
    return end;
}

bool are_places_right(const int64_t places[])
{
    for (size_t k = 0; k < model.num_capacities; k++) {
        if (places[k] < model_places[k] || places[k] > MOST_PLACES) return false;
    }
    return true;
}

static unsigned char *new_memory(size_t size)
{
#if defined _WIN32
    return _aligned_malloc(size, 64);
#else
    void *memory = NULL;
    return posix_memalign(&memory, 64, size) ? NULL : memory;
#endif
}

void free_memory(unsigned char *memory)
{
#if defined _WIN32
    _aligned_free(memory);
#else
    free(memory);
#endif
}

void move_addresses(unsigned char *memory, uintptr_t from, uintptr_t to)
{
    for (size_t n = 0; n < model.num_addresses; n++) {
        *(uint64_t *)(memory + model_addresses[n]) += (uint64_t)(to - from);
    }
}

static void place_functions(unsigned char *memory)
{
    for (size_t n = 0; n < model.num_functions; n++) {
        uint32_t at = model_functions[n];
        *(uint64_t *)(memory + at) = (uint64_t)(uintptr_t)model_codes[*(const uint64_t *)(model_image + at)];
    }
}

/* Writes addresses and lengths of arrays that may have grown. */
static void place_arrays(unsigned char *memory, const int64_t places[])
{
    size_t end = model.image_size, word = 0;
    for (size_t n = 0; n < model.num_arrays; n++) {
        Span span = span_of(n, places, &end);
        for (size_t k = 0; k < model_arrays[n].num_words; k++, word++) {
            uint64_t *address = (uint64_t *)(memory + model_array_words[word]);
            address[0] = (uint64_t)(uintptr_t)(memory + span.start);
            address[1 + model_arrays[n].axis] = (uint64_t)span.length;
        }
    }
}

bool take_memory(Instance *instance, const unsigned char *content, const int64_t places[])
{
    size_t size = memory_size(places);
    if (!instance->memory || size != memory_size(instance->places)) {
        unsigned char *memory = new_memory(size);
        if (!memory) return false;
        if (instance->memory) free_memory(instance->memory);
        instance->memory = memory;
    }
    memcpy(instance->places, places, model.num_capacities * sizeof *places);
    memcpy(instance->memory, content, size);
    move_addresses(instance->memory, 0, (uintptr_t)instance->memory);
    place_arrays(instance->memory, places);
    place_functions(instance->memory);
    return true;
}

/* Makes memory for larger capacities, with what is in the arrays. */
static bool grow(Instance *instance, const int64_t places[])
{
    size_t size = memory_size(places), before = model.image_size, after = model.image_size;
    unsigned char *memory = new_memory(size), *old = instance->memory;
    if (!memory) return false;
    memcpy(memory, old, model.image_size);
    memset(memory + model.image_size, 0, size - model.image_size);
    move_addresses(memory, (uintptr_t)old, (uintptr_t)memory);
    place_arrays(memory, places);
    for (size_t n = 0; n < model.num_arrays; n++) {
        Span from = span_of(n, instance->places, &before), to = span_of(n, places, &after);
        if (model_arrays[n].is_emptied) {
            memset(memory + to.start, 0, to.size);
        } else {
            memcpy(memory + to.start, old + from.start, from.size);
        }
    }
    memcpy(instance->places, places, model.num_capacities * sizeof *places);
    instance->memory = memory;
    free_memory(old);
    return true;
}

bool make_room(Instance *instance, const char *function)
{
    int64_t places[model.num_capacities + 1];
    memcpy(places, instance->places, model.num_capacities * sizeof *places);
    const char *owner = NULL;
    bool is_possible = true;
    for (size_t n = 0; n < model.num_found; n++) {
        uint32_t k = model_found[n].capacity;
        int64_t found = *(const int64_t *)(instance->memory + model_found[n].place);
        if (found > places[k]) {
            owner = model_owners[k];
            is_possible = is_possible && found <= MOST_PLACES / 2;
            places[k] = 2 * found;
        }
    }
    if (!owner) return false;
    if (is_possible && grow(instance, places)) {
        instance->place.has_changed = instance->place.is_outdated = 1;
        return true;
    }
    refuse(instance, function, "there is too little memory for all contacts of system '%s'.", owner);
    return false;
}
