"""Times of batches as a function, and the replay of schedules made with one."""
