-- Shows a notification: osascript desktop.applescript TITLE TEXT
-- Both are arguments, not part of the script: text from an agent is never executed.
on run {notificationTitle, notificationText}
	display notification notificationText with title notificationTitle
end run
